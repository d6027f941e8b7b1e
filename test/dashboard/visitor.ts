import type { TestServer } from '../support/server.ts'

export interface Opened {
  status: number
  headers: Headers
  text: string
}

/** A minimal browser: keeps cookies, submits forms, and follows no redirects. */
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
  /** Sends fields unchanged. */
  const send = (path: string, fields: Fields, headers: Record<string, string> = {}) =>
    call(path, { method: 'POST', body: new URLSearchParams(fields), headers })
  /** Sends fields with the CSRF token of the session. */
  const submit = async (path: string, fields: Fields = [], headers: Record<string, string> = {}) => {
    const { text } = await open('/admin')
    const csrf = /name="csrf" value="(\w+)"/.exec(text)?.[1] ?? ''
    return send(path, [['csrf', csrf], ...fields], headers)
  }
  /** Sends fields and a file with the CSRF token of the session. */
  const upload = async (path: string, file: string | Uint8Array<ArrayBuffer>, fields: Fields = []) => {
    const { text } = await open('/admin')
    const body = new FormData()
    body.append('csrf', /name="csrf" value="(\w+)"/.exec(text)?.[1] ?? '')
    for (const [name, value] of fields) body.append(name, value)
    body.append('file', new Blob([file]), 'report.xml')
    return call(path, { method: 'POST', body })
  }
  const signIn = (token = server.shop.ownerToken) => send('/admin/sign-in', [['token', token]])
  return { jar, open, send, submit, upload, signIn }
}

export type Fields = [name: string, value: string][]

/** The text of a page without markup. */
export const wordsOf = (text: string): string =>
  text
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')
    .replaceAll('&amp;', '&')

/** The error or message that the page shows. */
export const noticeOf = ({ text }: Opened): string =>
  wordsOf(/<(p|div) class="notice[^>]*>([\s\S]*?)<\/\1>/.exec(text)?.[2] ?? '').trim()
