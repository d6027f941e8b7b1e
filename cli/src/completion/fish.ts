import type { CompletionPoint } from './model.ts'

const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

const optionLine = (
  path: string,
  { word, hint, choices, takesFile, takesValue }: CompletionPoint['options'][number],
) => {
  const name = word.startsWith('--') ? `-l ${word.slice(2)}` : `-s ${word.slice(1)}`
  const values = choices.length ? ` -xa ${quoted(choices.join(' '))}` : takesFile ? ' -rF' : takesValue ? ' -x' : ''
  return `complete -c referral -n ${quoted(`__referral_at ${quoted(path)}`)} ${name}${values} -d ${quoted(hint)}`
}

export function fish(places: readonly CompletionPoint[]): string {
  const paths = places.map(({ path }) => path).filter(Boolean)
  const lines = places.flatMap(({ path, suggestions: words, options }) => [
    ...words.map(
      ({ word, hint }) =>
        `complete -c referral -n ${quoted(`__referral_at ${quoted(path)}`)} -a ${quoted(word)} -d ${quoted(hint)}`,
    ),
    ...options.map((option) => optionLine(path, option)),
  ])
  return `# fish completion of referral. Made by \`referral completion fish\`.
function __referral_at
    set -l where ''
    for word in (commandline -opc)[2..]
        set -l further (string trim -- "$where $word")
        contains -- $further ${paths.map(quoted).join(' ')}; and set where $further
    end
    test "$where" = "$argv[1]"
end
complete -c referral -f
${lines.join('\n')}
`
}
