import type { EvidenceKind } from './facts.ts'

/** The order in which kinds of evidence win, by the name a shop chooses it with. Every preset lists all four kinds. */
export const PRECEDENCE_PRESETS = {
  default: ['COUPON', 'DIRECT_LINK', 'CONNECTED_CUSTOMER', 'CONNECTED_PRODUCT'],
  'link-first': ['DIRECT_LINK', 'COUPON', 'CONNECTED_CUSTOMER', 'CONNECTED_PRODUCT'],
  'customer-first': ['CONNECTED_CUSTOMER', 'COUPON', 'DIRECT_LINK', 'CONNECTED_PRODUCT'],
} as const satisfies Record<string, readonly EvidenceKind[]>

/** The name of a preset. */
export type PrecedencePreset = keyof typeof PRECEDENCE_PRESETS
