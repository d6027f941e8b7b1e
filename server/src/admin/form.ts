import { invalidBody } from '../errors.ts'
import { isStorable, readBytes } from '../http/body.ts'

const MAX_FORM_BYTES = 64 * 1024

/**
 * The fields of a form. No page sends anything but text.
 *
 * @param maxBytes - Where the form is bounded more tightly than others.
 * @throws ApiError 400 for another kind of body, for one that is too large, and for text that cannot be stored.
 */
export async function readForm(request: Request, maxBytes = MAX_FORM_BYTES): Promise<URLSearchParams> {
  const type = request.headers.get('Content-Type')?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/x-www-form-urlencoded') throw invalidBody('Send the form of this page.')
  const form = new URLSearchParams(new TextDecoder().decode(await readBytes(request, maxBytes)))
  if (![...form].flat().every(isStorable)) throw invalidBody('Text must not hold the character U+0000.')
  return form
}

/** A field without outer white space; undefined when nothing was typed. */
export const field = (form: URLSearchParams, name: string): string | undefined => form.get(name)?.trim() || undefined
