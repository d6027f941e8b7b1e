// Writes api.md, the reference of the whole package on one page. With --check it only compares.
import { type Entry, type Exported, exported, exportedBy, methodsOf } from './declarations.ts'
import { adminOperations, clientOperations } from './resource-methods.ts'
import type { Operation } from './spec.ts'
import { writeGenerated } from './write-generated.ts'

const resourcesOf = (operations: Map<string, Operation>) => [
  ...new Set([...operations.keys()].map((name) => name.split('.')[0]!)),
]
const resources = resourcesOf(clientOperations)
const byName = new Map(exported.map((one) => [one.name, one]))
const shown = new Set<string>([...resources, 'ReferralClient', 'Core', 'paths', 'operations', 'components'])

const throwsOf = ({ throws }: Entry) => (throws.length ? ` Throws ${throws.join(' Throws ')}` : '')

const method = (operation: Operation, entry: Entry) => {
  const { name, type, doc } = entry
  const { method, path, scope, id } = operation
  const requires = scope ? `, scope \`${scope}\`` : ''
  return `- \`${name}${type}\`\n  ${doc}${throwsOf(entry)}\n  \`${method} ${path}\`, operation \`${id}\`${requires}.`
}

// Shows a named union by its name.
const lists = exported.filter(({ type }) => /^ = [^{}]*\(string & \{\}\)[^{}]*$/.test(type))
const named = (type: string) => lists.reduce((text, one) => text.replaceAll(one.type.slice(3), one.name), type)

const member = ({ name, type, doc }: Entry) => `- \`${name}${named(type)}\`${doc && ` ${doc}`}`

const entry = (name: string) => {
  shown.add(name)
  return describe(byName.get(name)!)
}

const describe = (exportedEntry: Exported) => {
  const { name, type, doc, members, kind, extends: base } = exportedEntry
  const declared = kind === 'function' || type.startsWith(' = ') ? `\`${name}${type}\`` : ''
  const adds = base && `Extends \`${base}\`.`
  return [
    `### ${name}`,
    [doc + throwsOf(exportedEntry), adds].filter(Boolean).join(' '),
    declared,
    members.map(member).join('\n'),
  ]
    .filter(Boolean)
    .join('\n\n')
}

const section = (title: string, names: string[]) => `## ${title}\n\n${names.map(entry).join('\n\n')}`

const methods = resources.map(
  (resource) =>
    `### client.${resource}\n\n${byName.get(resource)!.doc}\n\n${methodsOf('ReferralClient', resource)
      .map((one) => method(clientOperations.get(`${resource}.${one.name}`)!, one))
      .join('\n')}`,
)
const adminMethods = resourcesOf(adminOperations).map(
  (resource) =>
    `### admin.${resource}\n\n${methodsOf('AdminClient', resource)
      .map((one) => method(adminOperations.get(`${resource}.${one.name}`)!, one))
      .join('\n')}`,
)

const ofKind = (test: (name: string) => boolean) => exported.map(({ name }) => name).filter(test)

const parts = [
  section('Start', ['createReferralClient', 'createCore']),
  `## Resources\n\n${methods.join('\n\n')}`,
  section('Raw calls: client.GET, POST, PUT, PATCH, DELETE', ['RawClient']),
  section('Results', ['Call', 'WithResponse', 'SafeResult', 'PagedCall', 'Page', 'RateLimit']),
  section(
    'Options',
    ofKind((name) => /Options$|Info$/.test(name) || name === 'Logger' || name === 'Fetch'),
  ),
  section(
    'Errors',
    ofKind((name) => /Error(Code)?$/.test(name)),
  ),
  `## Owner API: @referral/sdk/admin\n\n${exportedBy('admin')
    .filter(({ name }) => name !== 'AdminClient')
    .map(describe)
    .join('\n\n')}\n\n${adminMethods.join('\n\n')}`,
  ...(['otel', 'msw', 'express', 'fastify', 'hono', 'next'] as const).map(
    (one) => `## @referral/sdk/${one}\n\n${exportedBy(one).map(describe).join('\n\n')}`,
  ),
  section('Webhook events', ['isKnownEvent', 'WebhookEvent', 'KnownEvent', 'UnknownEvent']),
]

writeGenerated({
  'api.md': `# @referral/sdk

Everything the package exports, on one page. Generated from the sources by \`pnpm run generate\`. For a guide, see README.md.

${parts.join('\n\n')}

${section(
  'Data',
  ofKind((name) => !shown.has(name)),
)}
`,
})
