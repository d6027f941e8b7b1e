// Writes api.md, the whole surface on one page. With --check it only compares.
import { type Entry, exported, methodsOf } from './declarations.ts'
import { generated } from './generated.ts'
import { operations } from './spec.ts'
import { surface } from './surface.ts'

const sent = await surface()
const resources = [...new Set([...sent.keys()].map((name) => name.split('.')[0]!))]
const byName = new Map(exported.map((one) => [one.name, one]))
const shown = new Set<string>([...resources, 'ReferralClient', 'Core', 'paths', 'operations', 'components'])

const method = (resource: string, { name, type, doc }: Entry) => {
  const { method, path, scope, id } = operations.find((one) => one.id === sent.get(`${resource}.${name}`))!
  return `- \`${name}${type}\`\n  ${doc}\n  \`${method} ${path}\`, operation \`${id}\`, scope \`${scope}\`.`
}

// A list of values that has a name is shown by its name.
const lists = exported.filter(({ type }) => /^ = [^{}]*\(string & \{\}\)[^{}]*$/.test(type))
const named = (type: string) => lists.reduce((text, one) => text.replaceAll(one.type.slice(3), one.name), type)

const member = ({ name, type, doc }: Entry) => `- \`${name}${named(type)}\`${doc && ` ${doc}`}`

const entry = (name: string) => {
  shown.add(name)
  const { type, doc, members, kind, extends: base } = byName.get(name)!
  const declared = kind === 'function' || type.startsWith(' = ') ? `\`${name}${type}\`` : ''
  const adds = base && `Extends \`${base}\`.`
  return [`### ${name}`, [doc, adds].filter(Boolean).join(' '), declared, members.map(member).join('\n')]
    .filter(Boolean)
    .join('\n\n')
}

const section = (title: string, names: string[]) => `## ${title}\n\n${names.map(entry).join('\n\n')}`

const methods = resources.map(
  (resource) =>
    `### client.${resource}\n\n${byName.get(resource)!.doc}\n\n${methodsOf(resource)
      .map((one) => method(resource, one))
      .join('\n')}`,
)

const ofKind = (test: (name: string) => boolean) => exported.map(({ name }) => name).filter(test)

const parts = [
  section('Start', ['createReferralClient', 'createCore']),
  `## Resources\n\n${methods.join('\n\n')}`,
  section('Raw calls: client.GET, POST, PUT, PATCH, DELETE', ['Raw']),
  section('Results', ['Call', 'WithResponse', 'SafeResult', 'PagedCall', 'Page', 'RateLimit']),
  section(
    'Options',
    ofKind((name) => /Options$|Info$/.test(name) || name === 'Logger' || name === 'Fetch'),
  ),
  section(
    'Errors',
    ofKind((name) => /Error(Code)?$/.test(name)),
  ),
  section('Webhook events', ['isKnownEvent', 'WebhookEvent', 'KnownEvent', 'UnknownEvent']),
]

generated({
  'api.md': `# @referral/sdk

The whole surface on one page. Generated from the sources by \`pnpm run generate\`; README.md says how to use it.

${parts.join('\n\n')}

${section(
  'Data',
  ofKind((name) => !shown.has(name)),
)}
`,
})
