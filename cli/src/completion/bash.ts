import type { CompletionPoint } from './model.ts'

const list = (words: readonly string[]) => words.join(' ')

/** Names that a path is made of, so that arguments are told from commands. */
export const pathCases = (places: readonly CompletionPoint[]) =>
  places
    .filter(({ path }) => path)
    .map(({ path }) => `" ${path}"`)
    .join('|')

const valueCases = ({ path, options }: CompletionPoint): string[] =>
  options.flatMap(({ word, choices, takesValue }) => {
    if (!takesValue) return []
    const body = choices.length ? `COMPREPLY=($(compgen -W "${list(choices)}" -- "$cur")); return` : 'return'
    return [`    "${path ? ` ${path}` : ''}|${word}") ${body} ;;`]
  })

export function bash(places: readonly CompletionPoint[]): string {
  const words = places.map(
    ({ path, suggestions: words, options }) =>
      `    "${path ? ` ${path}` : ''}") words="${list(words.map(({ word }) => word))}" options="${list(options.map(({ word }) => word))}" ;;`,
  )
  return `# bash completion of referral. Made by \`referral completion bash\`.
_referral() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" path="" words="" options="" i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path \${COMP_WORDS[i]}" in
      ${pathCases(places)}) path="$path \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$path|$prev" in
${places.flatMap(valueCases).join('\n')}
  esac
  case "$path" in
${words.join('\n')}
  esac
  case "$cur" in
    -*) words="$options" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _referral referral
`
}
