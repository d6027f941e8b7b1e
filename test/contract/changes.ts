import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { breakingChanges, dereferenced, type Json, METHODS } from './breaking.ts'

export const RELEASED = fileURLToPath(new URL('released/', import.meta.url))

const parts = (file: string) => (file.match(/\d+/g) ?? []).map(Number)

/** The stored contracts of releases, the newest last. */
export const releasedContracts = (): string[] =>
  globSync('openapi-*.yaml', { cwd: RELEASED }).sort((a, b) =>
    parts(a).reduce((order, part, i) => order || part - (parts(b)[i] ?? 0), 0),
  )

/** What a later contract breaks and adds, as Markdown. */
export function describeChanges(earlier: Json, later: Json): string {
  const section = (title: string, lines: string[]) =>
    lines.length ? `\n## ${title}\n\n${lines.map((line) => `- ${line}\n`).join('')}` : ''
  const breaking = section('Breaking', breakingChanges(earlier, later))
  const added = section('Added', additions(earlier, later))
  return `# Changes of the contract\n${breaking}${added || (breaking ? '' : '\nNone.\n')}`
}

function additions(earlier: Json, later: Json): string[] {
  const [before, after] = [dereferenced(earlier), dereferenced(later)]
  const operations = Object.entries<Json>(after.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).flatMap((method) => {
      const [was, is] = [before.paths[path]?.[method], item[method]]
      const name = `\`${method.toUpperCase()} ${path}\``
      if (!was) return [`${name}: ${is.summary}`]
      return newIn(parameterNames(was), parameterNames(is)).map((one) => `${name} accepts \`${one}\``)
    }),
  )
  const schemas = Object.entries<Json>(later.components.schemas).flatMap(([name, is]) => {
    const was = earlier.components.schemas[name]
    if (!was) return []
    const fields = newIn(fieldsOf(was), fieldsOf(is)).map((field) => `\`${name}\` has \`${field}\``)
    const values = newIn(was.enum, is.enum).map((value) => `\`${name}\` can be \`${value}\``)
    return [...fields, ...values]
  })
  const webhooks = newIn(Object.keys(before.webhooks), Object.keys(after.webhooks))
  return [...operations, ...schemas, ...webhooks.map((event) => `webhook \`${event}\``)]
}

const newIn = (before: string[] = [], after: string[] = []) => after.filter((one) => !before.includes(one))
const parameterNames = ({ parameters = [] }: Json): string[] => parameters.map(({ name }: Json) => name)

/** The names of a schema's fields, with dots, without those of other schemas. */
function fieldsOf(schema: Json): string[] {
  const { properties = {}, items, allOf = [], anyOf = [] } = schema ?? {}
  const own = Object.entries<Json>(properties).flatMap(([name, field]) => [
    name,
    ...fieldsOf(field).map((inner) => `${name}.${inner}`),
  ])
  return [...new Set([...own, ...(items ? fieldsOf(items) : []), ...[...allOf, ...anyOf].flatMap(fieldsOf)])]
}
