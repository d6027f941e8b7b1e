import { createHash } from 'node:crypto'
import { decodeTime, encodeTime, incrementBase32 } from 'ulid'

const TIME_LENGTH = 10
const PREFIX_LENGTH = 4

/** Shifts an ID's creation time, for a test shop's clock. Ascending IDs stay in order. */
export function laterId(id: string, ms: number): string {
  const ulid = id.slice(PREFIX_LENGTH)
  return id.slice(0, PREFIX_LENGTH) + encodeTime(decodeTime(ulid) + ms, TIME_LENGTH) + ulid.slice(TIME_LENGTH)
}

/** An ID of another kind with the same creation time. */
export const withPrefix = (prefix: IdPrefix, id: string): string => `${prefix}_${id.slice(PREFIX_LENGTH)}`

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const RANDOM_LENGTH = 16

/** Derives an ID from a row and a text, with the row's creation time, so that it is the same after a restore. */
export function derivedId(prefix: IdPrefix, id: string, text: string): string {
  const digest = createHash('sha256').update(`${prefix}\n${id}\n${text}`).digest().subarray(0, RANDOM_LENGTH)
  const random = Array.from(digest, (byte) => CROCKFORD[byte % CROCKFORD.length]).join('')
  return `${prefix}_${id.slice(PREFIX_LENGTH, PREFIX_LENGTH + TIME_LENGTH)}${random}`
}

/**
 * IDs start with their creation time, so that the primary key is also an index by age. Returns the lowest ID of a time.
 */
export const idBoundary = (prefix: IdPrefix, ms: number): string => `${prefix}_${encodeTime(ms, TIME_LENGTH)}`

/**
 * The candidate if it is greater than the last ID, otherwise the next possible ID: two processes' clocks may differ.
 */
export const idAfter = (last: string, candidate: string): string =>
  candidate > last ? candidate : last.slice(0, PREFIX_LENGTH) + incrementBase32(last.slice(PREFIX_LENGTH))

export type IdPrefix =
  | 'aff'
  | 'als'
  | 'prg'
  | 'com'
  | 'bat'
  | 'whs'
  | 'key'
  | 'shp'
  | 'usr'
  | 'jrn'
  | 'evt'
  | 'dlv'
  | 'aud'
  | 'con'
  | 'cus'
  | 'rul'
  | 'rfd'
  | 'pln'
  | 'req'
  | 'ers'
  | 'ses'
  | 'psk'
