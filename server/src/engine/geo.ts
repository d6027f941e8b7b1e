import type { GeoRule, Place } from './facts.ts'

/**
 * Compares where an order ships to with a program's rule. Every list that is not empty must match, trimmed and
 * case-insensitive; a field the order lacks is reported before one that does not match. Null: nothing stands against it.
 */
export function geoRestriction(rule: GeoRule | null, place: Place | null): 'GEO_UNKNOWN' | 'GEO_NOT_ELIGIBLE' | null {
  if (rule === null) return null
  const checks = [
    { list: rule.countries, field: place?.country, matches: equal },
    { list: rule.states, field: place?.state, matches: equal },
    { list: rule.cities, field: place?.city, matches: equal },
    { list: rule.postalPrefixes, field: place?.postalCode, matches: startsWith },
  ].filter(({ list }) => list.length > 0)
  if (checks.some(({ field }) => key(field) === '')) return 'GEO_UNKNOWN'
  const allowed = checks.every(({ list, field, matches }) => list.some((entry) => matches(key(field), key(entry))))
  return allowed ? null : 'GEO_NOT_ELIGIBLE'
}

function key(text: string | null | undefined): string {
  return (text ?? '').trim().toLowerCase()
}

function equal(field: string, entry: string): boolean {
  return field === entry
}

function startsWith(field: string, prefix: string): boolean {
  return field.startsWith(prefix)
}
