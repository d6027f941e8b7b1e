/** What the forms call the fields of the API. */
const LABELS = new Map([
  ['periodStart', 'First day'],
  ['periodEnd', 'Last day'],
  ['currency', 'Currency'],
  ['expiresAt', 'Expires'],
  ['label', 'Label'],
  ['url', 'Address'],
])
const INSTANT = /an ISO 8601 date \((.+?)\) or a timestamp .+?(?=\.$)/

/** Why the API refused what a form sent, in the words of the form. Its fields for time take days. */
export const inFormWords = (sentence: string): string =>
  sentence.replace(/^\w+|\b[a-z]+[A-Z]\w+/g, (name) => LABELS.get(name) ?? name).replace(INSTANT, 'a day, such as $1')
