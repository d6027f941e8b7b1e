import type { Context } from './context.ts'

/** Who can run a check: everyone with a key, everyone with a receiver or the feed of webhooks, or an owner. */
export type Suite = 'core' | 'webhooks' | 'owner'

/** What a check requires in addition to an API key with every scope. */
export type Requirement = 'otherKey' | 'owner' | 'receiver' | 'settings' | 'testShop'

/** A rule of the contract. */
export interface Rule {
  /** One sentence. */
  rule: string
  /** The page and heading that describe it, relative to `docs/`. */
  page: string
  needs?: Requirement[]
  /** Runs while no other check runs, because it changes what they rely on. */
  isExclusive?: boolean
  /** Throws when the server does not follow the rule. */
  run: (t: Context) => Promise<void>
}

export interface Check extends Rule {
  name: string
  group: string
  suite: Suite
}

export interface Group {
  name: string
  title: string
  suite: Suite
  checks: Check[]
}

type RuleOptions = Partial<Pick<Rule, 'page' | 'needs' | 'isExclusive'>>

/** Defines a rule: its sentence, what it does, and what differs from its group. */
export type Define = (name: string, rule: string, run: Rule['run'], options?: RuleOptions) => void

/** Defines rules that another page describes than their group. */
export const onPage =
  (rule: Define, page: string): Define =>
  (name, sentence, run, options) =>
    rule(name, sentence, run, { page, ...options })

/** Collects the rules of a topic. `page` describes them unless a rule names another one. */
export function group(
  name: string,
  { title, page, suite = 'core', ...shared }: { title: string; page: string; suite?: Suite } & RuleOptions,
  define: (rule: Define) => void,
): Group {
  const checks: Check[] = []
  define((short, rule, run, options = {}) => {
    checks.push({ name: `${name}/${short}`, group: name, suite, rule, page, run, ...shared, ...options })
  })
  return { name, title, suite, checks }
}

/** The server does not follow a rule. */
export class RuleBroken extends Error {}

/** What a check needs could not be created, so the rule itself was not tested. */
export class SetupFailed extends Error {}

/** The rule cannot be tested on this server. */
export class NotApplicable extends Error {}
