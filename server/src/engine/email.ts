import { withoutInvisible } from './text.ts'

/** What a URL parser would read as something other than a host name. */
const NOT_A_HOST = /[\s\p{Cc}/?#@:%\\[\]]/u
/** The dots that internationalized domain names may be written with, and whitespace that follows one. */
const END = /[.\u3002\uff0e\uff61\s]+$/

/**
 * The form in which e-mail addresses are compared for uniqueness, connections and look-ups: trimmed, Unicode form NFC,
 * lower case, an ASCII domain without a dot at its end.
 */
export function emailKey(email: string): string {
  // Normalized again: some letters and their accents compose in lower case only.
  const address = email.trim().normalize('NFC').toLowerCase().normalize('NFC')
  const at = address.lastIndexOf('@')
  return at < 0 ? address : address.slice(0, at + 1) + domainKey(address.slice(at + 1))
}

function domainKey(domain: string): string {
  const name = domain.replace(END, '')
  if (/^[\0-\x7f]*$/.test(name) || NOT_A_HOST.test(name)) return name
  const url = `http://${name}`
  const host = URL.canParse(url) ? new URL(url).hostname.replace(END, '') : name
  // A number would come back as an IPv4 address.
  return /(^|\.)\d+$/.test(host) ? name : host
}

/**
 * The mailbox behind an address, to recognize an affiliate who is the buyer: like {@link emailKey}, and without display
 * name, comments, quotes, plus tag, the dots of Gmail, the alias domain of Gmail, invisible characters and compatibility forms.
 */
export function mailboxKey(email: string): string {
  const text = withoutInvisible(email.normalize('NFKC'))
  const address = emailKey(bareAddress(/<([^<>]*@[^<>]*)>/.exec(text)?.[1] ?? text))
  const at = address.lastIndexOf('@')
  if (at < 0) return address
  const domain = address.slice(at + 1)
  const plus = address.indexOf('+')
  const local = address.slice(0, plus > 0 && plus < at ? plus : at)
  const isGmail = domain === 'gmail.com' || domain === 'googlemail.com'
  return isGmail ? `${local.replaceAll('.', '')}@gmail.com` : `${local}@${domain}`
}

/** Comments in parentheses, a `mailto:` in front, and separators behind: what mail programs ignore around an address. */
function bareAddress(text: string): string {
  let bare = text
  for (let before = ''; before !== bare; ) {
    before = bare
    bare = bare.replace(/\([^()]*\)/g, '')
  }
  const [first = ''] = bare.replace(/^\s*mailto:/i, '').split(/[;,]\s*(?=$|\S+@)/)
  return first.replace(/\s*@\s*/, '@').replace(/^\s*"([^"\s]+)"@/, '$1@')
}

/** A text from a query string in which the spaces before an `@` were meant as `+`: an unencoded one arrives as a space. */
export function withPlus(text: string): string {
  return text.trim().replace(/ (?=.*@)/g, '+')
}

/** What an address from a query string may be stored as: as it arrived, or with its spaces meant as `+`. */
export function emailKeysOfQuery(text: string): string[] {
  return [...new Set([text, withPlus(text)].map(emailKey))]
}
