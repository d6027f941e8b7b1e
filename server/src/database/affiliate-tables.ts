import type { components } from '../contract/schema.d.ts'

type Schemas = components['schemas']

type AliasColumns = Schemas['Alias']
export interface AliasRow extends AliasColumns {
  shopId: string
  /** Normalized, in the form in which codes and slugs are compared. */
  codeKey: string
}

export interface PayeeRow {
  shopId: string
  affiliateId: string
  method: Schemas['PayeeMethod']
  details: string
  createdAt: string
  updatedAt: string
}

/** `kind` is `customerId`, `customerEmail` (its key; see engine/normalize.ts), `product` or `variant`. */
export interface ConnectionRow {
  id: string
  shopId: string
  kind: 'customerId' | 'customerEmail' | 'product' | 'variant'
  value: string
  affiliateId: string
  createdAt: string
}
