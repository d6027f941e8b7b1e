import type { AffiliateFact, Facts, ProgramFact } from './facts.ts'

/** The affiliate of that id; null when none is named or the data was deleted. */
export function affiliateOf(facts: Facts, id: string | null): AffiliateFact | null {
  return id !== null && Object.hasOwn(facts.affiliates, id) ? facts.affiliates[id]! : null
}

/** The program of an affiliate; null when it has none or the data was deleted. */
export function programOf(facts: Facts, affiliate: AffiliateFact): ProgramFact | null {
  const id = affiliate.programId
  return id !== null && Object.hasOwn(facts.programs, id) ? facts.programs[id]! : null
}
