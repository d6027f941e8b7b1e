// Generated from openapi.yaml by `pnpm run generate`. Do not edit.
import type { Retry } from '../retry.ts'
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

/** What may be sent again, where nothing else is said: never what is not listed. */
export const usual: Record<string, Retry> = {"GET":"safe","PUT":"repeatable","DELETE":"repeatable"}

/** The operations that are not as usual. */
export const unusual = [
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
