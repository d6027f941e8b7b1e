import type { Command } from 'commander'

/** API fields whose option has a different name. */
const OPTION_OF_FIELD: Record<string, string> = {
  streetName: '--street',
  buildingNumber: '--building',
  townName: '--town',
  'debtor.name': '--from-name',
  'debtor.iban': '--from-iban',
  'debtor.bic': '--from-bic',
  // Its name and IBAN are required.
  debtor: '--from-name and --from-iban',
}

/** Replaces the API's fields in an error message with the command's options that set them. */
export function nameOptions(message: string, command: Command): string {
  // Details read from standard input use the API's names.
  if (command.getOptionValue('stdin')) return message
  const flags = new Set(command.options.map(({ long }) => long))
  const ofCommand = command.options.flatMap((option) => (option.long ? [[option.attributeName(), option.long]] : []))
  const others = Object.entries(OPTION_OF_FIELD).filter(([, text]) => flags.has(text.split(' ')[0] ?? ''))
  const options = new Map([...ofCommand, ...others] as [string, string][])
  return message.replace(/(?<![\w.-])[a-z]+(?:[A-Z][a-z]+|\.[a-z]+)*\b/g, (word, at: number) => {
    // A word such as `name` is a field only at the start of the message.
    const isField = /[A-Z.]/.test(word) || word === 'debtor' || at === 0
    return (isField && options.get(word)) || word
  })
}
