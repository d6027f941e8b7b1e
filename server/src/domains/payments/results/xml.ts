import sax from 'sax'
import { UnreadableFileError } from '../../../core/unreadable-file.ts'

/** An element, without namespace prefixes. */
export interface XmlElement {
  attributes: Record<string, string>
  /** Without leading and trailing whitespace. */
  text: string
  children: Map<string, XmlElement[]>
}

interface XmlOptions {
  /** The elements to keep. Others are skipped with their content. */
  keep: ReadonlySet<string>
  /** Handlers for elements, called when the element ends, by name. These elements are not kept. */
  onEnd: Record<string, (element: XmlElement) => void>
}

/** Keeps the parser's memory small. */
const CHUNK_LENGTH = 64 * 1024
const MAX_DEPTH = 100
const MAX_TEXT_LENGTH = 10_000
/** The maximum number of elements kept at a time. */
const MAX_ELEMENTS = 1_000_000

/**
 * Parses XML in one pass, in memory that does not depend on the length of the text. Document types are rejected, so no entity
 * is ever defined or loaded.
 *
 * @returns the document, whose only child is the root element.
 * @throws UnreadableFileError
 */
export function readXml(text: string, file: string, { keep, onEnd }: XmlOptions): XmlElement {
  const root = newElement({})
  const open: { name: string; element: XmlElement }[] = [{ name: '', element: root }]
  let skipped = 0
  let keptBytes = 0
  const reader = sax.parser(true)
  const addText = (more: string) => {
    // Whitespace between a long list's elements would add up.
    if (skipped > 0 || more.trim() === '') return
    const { element } = open.at(-1)!
    element.text += more
    if (element.text.length > MAX_TEXT_LENGTH)
      throw new UnreadableFileError(
        `${file} has an element with more than ${MAX_TEXT_LENGTH} characters on line ${reader.line + 1}, which bank messages never contain.`,
      )
  }
  reader.onerror = ({ message }) => {
    // The message continues with the position, on further lines.
    throw new UnreadableFileError(`${file} is not well-formed XML: line ${reader.line + 1}: ${message.split('\n')[0]}.`)
  }
  reader.ondoctype = () => {
    throw new UnreadableFileError(`${file} has a document type, which bank messages never contain.`)
  }
  reader.ontext = addText
  reader.oncdata = addText
  reader.onopentag = ({ name: fullName, attributes }) => {
    const name = fullName.slice(fullName.indexOf(':') + 1)
    if (skipped > 0 || !keep.has(name)) {
      skipped += 1
      return
    }
    keptBytes += 1
    if (open.length > MAX_DEPTH || keptBytes > MAX_ELEMENTS)
      throw new UnreadableFileError(
        `${file} has more than ${open.length > MAX_DEPTH ? `${MAX_DEPTH} nested` : MAX_ELEMENTS} elements.`,
        'Export a shorter period.',
      )
    open.push({ name, element: newElement(attributes as Record<string, string>) })
  }
  reader.onclosetag = () => {
    if (skipped > 0) {
      skipped -= 1
      return
    }
    const { name, element } = open.pop()!
    element.text = element.text.trim()
    if (onEnd[name]) {
      keptBytes = 0
      onEnd[name](element)
      return
    }
    const { children } = open.at(-1)!.element
    const siblings = children.get(name)
    if (siblings) siblings.push(element)
    else children.set(name, [element])
  }
  for (let start = 0; start < text.length; start += CHUNK_LENGTH) reader.write(text.slice(start, start + CHUNK_LENGTH))
  reader.close()
  return root
}

const newElement = (attributes: Record<string, string>): XmlElement => ({ attributes, text: '', children: new Map() })

export const childrenOf = (element: XmlElement | undefined, name: string): XmlElement[] =>
  element?.children.get(name) ?? []

/** The first element at a path. */
export const elementAt = (element: XmlElement | undefined, ...path: string[]): XmlElement | undefined =>
  path.reduce((parent, name) => childrenOf(parent, name)[0], element)

/** The first element's text at a path, or undefined if it is missing or empty. */
export const textAt = (element: XmlElement | undefined, ...path: string[]): string | undefined =>
  elementAt(element, ...path)?.text || undefined
