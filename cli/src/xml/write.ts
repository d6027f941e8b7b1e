/** The content of an element: text, or elements by name. An array repeats its element, and `@name` is an attribute. */
export type XmlContent = string | { [name: string]: XmlContent | readonly XmlContent[] | undefined }

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' }
const escapeXml = (text: string) => text.replace(/[&<>"']/g, (mark) => ESCAPES[mark] ?? mark)

/** Renders a document whose root element is the only property. */
export const renderXml = (document: XmlContent): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n${renderChildren(document, '')}`

function renderChildren(content: XmlContent, indent: string): string {
  return Object.entries(content)
    .filter(([name, value]) => value !== undefined && !/^[@#]/.test(name))
    .flatMap(([name, value]) => [value].flat().map((one) => renderElement(name, one as XmlContent, indent)))
    .join('')
}

function renderElement(name: string, content: XmlContent, indent: string): string {
  const [attributes, text] =
    typeof content === 'string'
      ? ['', content]
      : [
          Object.entries(content)
            .filter(([key]) => key.startsWith('@'))
            .map(([key, value]) => ` ${key.slice(1)}="${escapeXml(String(value))}"`)
            .join(''),
          content['#text'],
        ]
  const inner = text === undefined ? `\n${renderChildren(content, `${indent}  `)}${indent}` : escapeXml(String(text))
  return `${indent}<${name}${attributes}>${inner}</${name}>\n`
}
