import { SCOPES } from '../../domains/accounts/keys.ts'
import { type Html, html } from '../kit/html.ts'
import { nameOf } from '../kit/status.ts'
import { urlWithQuery } from '../kit/url.ts'

type Level = 'none' | 'read' | 'write'

/** A resource's access levels with their scopes. Write access includes read access. */
type Resource = readonly [name: string, levels: ReadonlyMap<Level, readonly string[]>]

const LEVELS: readonly Level[] = ['none', 'read', 'write']

/** The resources that openapi.yaml has scopes for. */
const RESOURCES: readonly Resource[] = [...new Set(SCOPES.map((scope) => scope.split(':')[0] ?? ''))].map((name) => {
  const resourceScopes = SCOPES.filter((scope) => scope.startsWith(`${name}:`))
  const [read, write] = ['read', 'write'].map((level) => resourceScopes.filter((scope) => scope.endsWith(`:${level}`)))
  const levels: [Level, readonly string[]][] = [
    ['none', []],
    ['read', read ?? []],
    ['write', write?.length ? resourceScopes : []],
  ]
  return [name, new Map(levels.filter(([level, scopes]) => level === 'none' || scopes.length > 0))]
})

/** Common uses of a key, and the scopes each needs. */
const PRESETS: readonly (readonly [name: string, text: string, needs: (scope: string) => boolean])[] = [
  [
    'Checkout',
    'reports clicks and orders, and looks up codes',
    (scope) => ['events:write', 'coupons:read'].includes(scope),
  ],
  ['Reports', 'reads everything and changes nothing', (scope) => scope.endsWith(':read')],
  ['Everything', 'can do everything in the API', () => true],
]

const fieldOf = (resource: string): string => `access-${resource}`

/** Scopes as text: `Affiliates: write, Coupons: read`. */
export function accessText(scopes: readonly string[]): string {
  if (scopes.length === SCOPES.length) return 'Everything'
  return RESOURCES.flatMap(([name]) => {
    const resourceScopes = scopes.filter((scope) => scope.startsWith(`${name}:`))
    const highest = resourceScopes.find((scope) => scope.endsWith(':write')) ?? resourceScopes[0]
    return highest ? [`${nameOf(name)}: ${highest.split(':')[1]}`] : []
  }).join(', ')
}

/** The scopes selected in the form. */
export const chosenScopes = (form: URLSearchParams): string[] => [
  ...RESOURCES.flatMap(([name, levels]) => levels.get((form.get(fieldOf(name)) ?? 'none') as Level) ?? []),
]

/**
 * The fields for a key's access. Nothing is preselected unless the form was sent or the page was opened with a preset.
 */
export function accessFields(path: string, form: URLSearchParams, preset: string | undefined): Html {
  const [, , needs] = PRESETS.find(([name]) => name.toLowerCase() === preset) ?? []
  const levelOf = ([name, levels]: Resource): Level => {
    if (form.size > 0) return (form.get(fieldOf(name)) ?? 'none') as Level
    if (!needs) return 'none'
    const resourceScopes = SCOPES.filter((scope) => scope.startsWith(`${name}:`) && needs(scope))
    return (
      [...levels].findLast(
        ([level]) => level !== 'none' && resourceScopes.some((scope) => scope.endsWith(level)),
      )?.[0] ?? 'none'
    )
  }
  return html`<fieldset class="access"><legend>What the key can do</legend>
<p class="hint">Start from ${PRESETS.map(([name, text], index) => html`${index > 0 ? '; ' : ''}<a href="${urlWithQuery(path, { preset: name.toLowerCase() })}#create"${name.toLowerCase() === preset ? html` aria-current="true"` : ''}>${name}</a>, which ${text}`)}. Write includes read.</p>
${RESOURCES.map((resource) => row(resource, levelOf(resource)))}</fieldset>`
}

/** The suggested label for a preset. */
export const presetLabel = (preset: string | undefined): string =>
  PRESETS.find(([name]) => name.toLowerCase() === preset && name !== 'Everything')?.[0] ?? ''

const row = ([name, levels]: Resource, chosen: Level): Html =>
  html`<div role="radiogroup" aria-labelledby="${`access-${name}`}"><span id="${`access-${name}`}">${nameOf(name)}</span>${LEVELS.map(
    (level) =>
      levels.has(level)
        ? html`<label class="box"><input type="radio" name="${fieldOf(name)}" value="${level}" aria-label="${`${nameOf(name)}: ${level}`}"${level === chosen ? html` checked` : ''}> <span>${nameOf(level)}</span></label>`
        : html`<span></span>`,
  )}</div>`
