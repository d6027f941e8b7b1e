import type { components } from '@referral/sdk'
import type { Command } from 'commander'
import { defineCommand, defineGroup } from '../command.ts'
import { enums } from '../contract.ts'
import { unwrap, usageError } from '../errors.ts'
import { choiceOption } from '../options.ts'
import { confirm, readStdin } from '../prompt.ts'

type PayeeSet = components['schemas']['PayeeSet']

// Flag, API field, description.
const FIELDS: [flags: string, option: string, field: string, description: string][] = [
  ['--email <address>', 'email', 'email', 'email address of the PayPal or Wise account'],
  ['--name <name>', 'name', 'name', 'name of the account holder; for Wise and SEPA'],
  ['--iban <iban>', 'iban', 'iban', 'IBAN, for SEPA'],
  ['--bic <bic>', 'bic', 'bic', 'BIC, for SEPA'],
  ['--street <name>', 'street', 'streetName', 'street of the account holder, for SEPA'],
  ['--building <number>', 'building', 'buildingNumber', 'building number, for SEPA'],
  ['--postal-code <code>', 'postalCode', 'postalCode', 'postal code, for SEPA'],
  ['--town <name>', 'town', 'townName', 'town, for SEPA'],
  ['--country <code>', 'country', 'country', 'country of the address, such as DE; for SEPA'],
]

interface SetOptions extends Record<string, string | boolean | undefined> {
  method?: string
  stdin?: boolean
}

const pathOf = (id: string) => `/admin/v1/affiliates/${encodeURIComponent(id)}/payee`

/** How an affiliate is paid. The service never returns the details, only the masked account. */
export function addPayee(affiliates: Command): void {
  const payee = defineGroup(affiliates, 'payee', 'manage how an affiliate is paid')
  defineCommand(payee, 'get <id>', {
    summary: 'get the masked payee details of an affiliate',
    output: 'Payee',
    owner: true,
    action: async (run, { args: [id = ''] }) => {
      const client = await run.ownerClient()
      const { data } = unwrap(await client.GET('/admin/v1/affiliates/{id}/payee', { params: { path: { id } } }))
      run.printRecord(data)
    },
  })
  addSet(payee)
  defineCommand<{ yes?: boolean }>(payee, 'delete <id>', {
    summary: 'delete the payee details of an affiliate',
    output: 'ActionReply',
    owner: true,
    writes: true,
    action: async (run, { options, args: [id = ''] }) => {
      if (run.dryRun) return run.printDryRun('DELETE', pathOf(id))
      await confirm(run.context, `Delete the payee details of ${id}?`, options.yes)
      const client = await run.ownerClient()
      run.printRecord(unwrap(await client.DELETE('/admin/v1/affiliates/{id}/payee', { params: { path: { id } } })))
    },
  }).option('-y, --yes', 'skip the confirmation')
}

function addSet(payee: Command): void {
  const set = defineCommand<SetOptions>(payee, 'set <id>', {
    summary: 'set how an affiliate is paid, replacing the current details',
    details:
      'IBAN and BIC are validated. Details are stored encrypted and appear only in payment files. With --stdin, the details are read from standard input as the JSON body of `PUT /admin/v1/affiliates/{id}/payee`, so that they are not in the shell history.',
    output: 'Payee',
    owner: true,
    writes: true,
    examples: [
      'referral affiliates payee set aff_… --method PAYPAL --email noor@example.com',
      "referral affiliates payee set aff_… --method SEPA --name 'Noor Haddad' --iban 'DE89 3704 0044 0532 0130 00' --town Berlin --country DE",
      'referral affiliates payee set aff_… --stdin < payee.json',
    ],
    action: async (run, { options, args: [id = ''] }) => {
      const body = options.stdin
        ? parseBody((await readStdin(run.context)).toString('utf8'))
        : (bodyOf(options) as PayeeSet)
      // The details stay off the screen.
      if (run.dryRun) return run.printDryRun('PUT', pathOf(id), { method: body.method })
      const client = await run.ownerClient()
      const { data } = unwrap(await client.PUT('/admin/v1/affiliates/{id}/payee', { params: { path: { id } }, body }))
      run.printRecord(data)
    },
  }).addOption(choiceOption('--method <method>', 'how the affiliate is paid', enums.PayeeMethod))
  for (const [flags, , , description] of FIELDS) set.option(flags, description)
  set.option('--stdin', 'read the details from standard input as JSON')
}

function bodyOf({ method, ...options }: SetOptions): Record<string, unknown> {
  if (!method) throw usageError('--method is required.', `Pass one of ${enums.PayeeMethod.join(', ')}, or --stdin.`)
  const fields = FIELDS.filter(([, option]) => options[option] !== undefined)
  return { method, ...Object.fromEntries(fields.map(([, option, field]) => [field, options[option]])) }
}

function parseBody(text: string): PayeeSet {
  try {
    return JSON.parse(text)
  } catch {
    throw usageError('Standard input is not JSON.', 'Send an object such as {"method":"PAYPAL","email":"…"}.')
  }
}
