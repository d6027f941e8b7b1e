import { encodeTime, incrementBase32 } from 'ulid'
import type { IdPrefix } from './context.ts'

const TIME_LENGTH = 10
const PREFIX_LENGTH = 4

/** Ids start with their creation time, so that the primary key is also an index by age. Returns the lower bound of a time. */
export const idBoundary = (prefix: IdPrefix, ms: number): string => `${prefix}_${encodeTime(ms, TIME_LENGTH)}`

/** The candidate if it is greater than the last id, else the next possible one: the clocks of two processes may differ. */
export const idAfter = (last: string, candidate: string): string =>
  candidate > last ? candidate : last.slice(0, PREFIX_LENGTH) + incrementBase32(last.slice(PREFIX_LENGTH))
