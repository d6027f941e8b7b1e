import type { TestServer } from '../support/server.ts'

export interface Opened {
  status: number
  headers: Headers
  text: string
}

/** A browser without a screen: it keeps the session, sends the forms, and follows nothing by itself. */
export function visitorOf(server: TestServer) {
  const jar = new Map<string, string>()
  const call = async (path: string, init: RequestInit & { headers?: Record<string, string> } = {}): Promise<Opened> => {
    const Cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...(Cookie && { Cookie }), ...init.headers }
    const response = await server.fetch(`http://test${path}`, { redirect: 'manual', ...init, headers })
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = cookie.split('; ')
      const [name = '', value = ''] = pair.split('=')
      if (attributes.includes('Max-Age=0')) jar.delete(name)
      else jar.set(name, value)
    }
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  const open = (path: string, headers: Record<string, string> = {}) => call(path, { headers })
  /** Sends fields as they are. */
  const send = (path: string, fields: Fields, headers: Record<string, string> = {}) =>
    call(path, { method: 'POST', body: new URLSearchParams(fields), headers })
  /** Sends fields with the token of the session, as its forms do. */
  const submit = async (path: string, fields: Fields = [], headers: Record<string, string> = {}) => {
    const { text } = await open('/admin')
    const csrf = /name="csrf" value="(\w+)"/.exec(text)?.[1] ?? ''
    return send(path, [['csrf', csrf], ...fields], headers)
  }
  const signIn = (token = server.shop.ownerToken) => send('/admin/sign-in', [['token', token]])
  return { jar, open, send, submit, signIn }
}

export type Fields = [name: string, value: string][]

/** What a page says, without its marks. */
export const wordsOf = (text: string): string =>
  text
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')
    .replaceAll('&amp;', '&')

/** One sentence that the page shows as an error or a message. */
export const noticeOf = ({ text }: Opened): string =>
  wordsOf(/<(p|div) class="notice[^>]*>([\s\S]*?)<\/\1>/.exec(text)?.[2] ?? '').trim()
