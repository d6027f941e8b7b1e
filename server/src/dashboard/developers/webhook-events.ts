import { invalidBody } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { emittedEvents, extendedEvents, isExtended } from '../../core/event-names.ts'
import { checkboxes } from '../kit/form.ts'
import { type Html, html } from '../kit/html.ts'
import type { PageRequest } from '../kit/route.ts'

type Known = Pick<components['schemas']['WebhookSubscription'], 'events' | 'extendedEvents'>
/** All events, the events that a subscription created with the API receives by default, or a selection. */
type Choice = 'all' | 'basic' | 'some'

/** The names of all events that are sent. */
export const EVENT_NAMES: readonly string[] = [...new Set([...emittedEvents, ...extendedEvents, 'test'])]

const OBJECTS: Readonly<Record<string, string>> = {
  affiliate: 'Affiliates',
  commission: 'Commissions',
  payout: 'Payouts',
  test: 'Test',
}
const objectOf = (name: string): string => OBJECTS[name.split('.')[0] ?? ''] ?? 'Other names'

// Event names can be any text, and a subscription can have thousands. The page shows a few, truncated.
const SHOWN_NAMES = 20
const SHOWN_CHARACTERS = 60
const truncated = (name: string) => (name.length > SHOWN_CHARACTERS ? `${name.slice(0, SHOWN_CHARACTERS)}…` : name)

export function eventNames(events: readonly string[]): Html {
  const shown = events.slice(0, SHOWN_NAMES).map((name) => html`<code>${truncated(name) || '""'}</code> `)
  const rest = events.length - shown.length
  return html`${shown}${rest > 0 ? `and ${rest} more` : ''}`
}

/** Whether the names fit into checkboxes: few, short, and without line breaks, which forms change. */
const areOffered = (events: string[]) =>
  events.length <= SHOWN_NAMES && events.every((name) => name.length <= SHOWN_CHARACTERS && !/[\r\n]/.test(name))

const choiceOf = ({ events, extendedEvents: isAll }: Known): Choice => {
  if (events.length > 0) return 'some'
  return isAll ? 'all' : 'basic'
}

/** A webhook's events, named as in the form. */
export function receivedEvents(known: Known): Html {
  const choice = choiceOf(known)
  if (choice === 'some') return eventNames(known.events)
  return choice === 'all' ? html`All events` : html`All basic events`
}

/** A choice between all events and a selection. The selection, grouped by subject, appears when it is chosen. */
export function eventFields({ form }: PageRequest, known: Known): Html {
  if (!areOffered(known.events))
    return html`<p class="hint">This webhook has ${known.events.length} event names, which are too many or too long to edit here. Use the API to change them. Saving this form keeps them.</p>`
  const chosen = form.has('choice') ? form.get('choice') : choiceOf(known)
  const events = form.size ? form.getAll('events') : known.events
  const groups = Map.groupBy(new Set([...EVENT_NAMES, ...known.events]), objectOf)
  const radio = (value: Choice, text: Html) =>
    html`<label class="box"><input type="radio" name="choice" value="${value}"${chosen === value ? html` checked` : ''}> <span>${text}</span></label>`
  return html`<fieldset class="choice"><legend>Events</legend>
${radio('all', html`All events <small>Including events added later.</small>`)}
${choiceOf(known) === 'basic' ? radio('basic', html`All basic events <small>${eventNames(emittedEvents)}</small>`) : ''}
${radio('some', html`Only these events`)}
<div class="chosen">${[...groups].map(([object, names]) => checkboxes('events', object, names, events))}</div></fieldset>`
}

/**
 * The form's events as API fields. Empty if the form could not offer the webhook's names.
 *
 * @throws ApiError 400 when nothing is selected.
 */
export function sentEvents(form: URLSearchParams, known?: Known): Partial<Known> {
  if (known && !areOffered(known.events)) return {}
  const events = form.getAll('events')
  const choice = form.get('choice') ?? (events.length > 0 ? 'some' : 'all')
  if (choice !== 'some') return { events: [], extendedEvents: choice === 'all' }
  if (events.length === 0) throw invalidBody('Select at least one event, or choose all events.')
  return { events, extendedEvents: events.some(isExtended) }
}

/**
 * Events a webhook lists but does not receive: those that extended events would enable, and those that are never sent.
 */
export function unsentNames({ events, extendedEvents: isAll }: Known): { off: string[]; unknown: string[] } {
  return {
    off: isAll ? [] : events.filter(isExtended),
    unknown: events.filter((name) => !EVENT_NAMES.includes(name)),
  }
}
