import type { components } from '../contract/schema.d.ts'

type Schemas = components['schemas']

type AliasColumns = Schemas['Alias']
export interface AliasRow extends AliasColumns {
  shopId: string
  /** In the normalized form used to compare codes and slugs. */
  codeKey: string
}

/** A customer of the shop. Bound if `affiliateId` is not null. */
export interface CustomerRow {
  id: string
  shopId: string
  /** The caller's ID. */
  customerId: string | null
  /** Keyed hashes of the address and of its mailbox; see email-hash.ts. */
  emailHash: string | null
  mailboxHash: string | null
  affiliateId: string | null
  programId: string | null
  boundAt: string | null
  boundBy: 'SIGNUP' | 'ORDER' | 'OWNER' | 'IMPORT' | null
  /** Orders and revenue that another service counted before the import. */
  importedOrders: number
  importedFirstOrderAt: string | null
  createdAt: string
}

export interface PayeeRow {
  shopId: string
  affiliateId: string
  method: Schemas['PayeeMethod']
  details: string
  createdAt: string
  updatedAt: string
}

/** A product or variant that is evidence for an affiliate. */
export interface ConnectionRow {
  id: string
  shopId: string
  kind: 'product' | 'variant'
  value: string
  affiliateId: string
  createdAt: string
}
