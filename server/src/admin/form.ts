import { invalidBody } from '../errors.ts'
import { isStorable } from '../http/body.ts'
import { readBody } from '../http/read-body.ts'

export const MAX_FORM_BYTES = 64 * 1024

/**
 * The fields of a form. No page sends anything but text.
 *
 * @throws ApiError 400 for another kind of body and for text that cannot be stored; 400 and 503 of {@link readBody}.
 */
export async function readForm(...[server, c, expected]: Parameters<typeof readBody>): Promise<URLSearchParams> {
  const type = c.req.header('Content-Type')?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/x-www-form-urlencoded') throw invalidBody('Send the form of this page.')
  const { bytes } = await readBody(server, c, expected)
  const form = new URLSearchParams(new TextDecoder().decode(bytes))
  if (![...form].flat().every(isStorable)) throw invalidBody('Text must not hold the character U+0000.')
  return form
}

/** A field without outer white space; undefined when nothing was typed. */
export const field = (form: URLSearchParams, name: string): string | undefined => form.get(name)?.trim() || undefined
