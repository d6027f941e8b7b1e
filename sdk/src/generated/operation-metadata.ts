// Generated from openapi.yaml by `pnpm run generate`. Do not edit.
import type { RetryPolicy } from '../retry.ts'
import {
  createAffiliate,
  updateAffiliate,
  createProgram,
  updateProgram,
  createPayout,
  payPayout,
  assignCoupon,
  createWebhook,
  recordEvent,
  getDocs,
  updateSettings,
  approveCommission,
  rejectCommission,
  cancelCommission,
  reverseCommission,
  reopenCommission,
  refundCommission,
  moderateCommissions,
  cancelPayout,
  runBacktest,
  recordStoreOrder,
  cancelStoreOrder,
  refundStoreOrder,
  updateWebhook,
} from './operations.ts'

/** The retry policy of each method. A method that is not listed is never retried. */
export const defaultRetryPolicies: Record<string, RetryPolicy> = {"GET":"safe","PUT":"repeatable","DELETE":"repeatable"}

/** The operations that differ from the default of their method. */
export const operationMetadata = [
  createAffiliate,
  updateAffiliate,
  createProgram,
  updateProgram,
  createPayout,
  payPayout,
  assignCoupon,
  createWebhook,
  recordEvent,
  getDocs,
  updateSettings,
  approveCommission,
  rejectCommission,
  cancelCommission,
  reverseCommission,
  reopenCommission,
  refundCommission,
  moderateCommissions,
  cancelPayout,
  runBacktest,
  recordStoreOrder,
  cancelStoreOrder,
  refundStoreOrder,
  updateWebhook,
]
