import { pathCases } from './bash.ts'
import type { CompletionPoint, Suggestion } from './model.ts'

// A colon parts word and hint, a quote would end the text.
const described = ({ word, hint }: Suggestion) => `'${word}:${hint.replaceAll("'", "'\\''").replaceAll(':', '\\:')}'`

const valueCases = ({ path, options }: CompletionPoint): string[] =>
  options
    .filter(({ takesValue }) => takesValue)
    .map(({ word, choices }) => {
      const body = choices.length ? `compadd -- ${choices.join(' ')}` : '_files'
      return `    "${path ? ` ${path}` : ''}|${word}") ${body}; return ;;`
    })

export function zsh(places: readonly CompletionPoint[]): string {
  const cases = places.map(
    ({ path, suggestions: words, options }) =>
      `    "${path ? ` ${path}` : ''}") found=(${words.map(described).join(' ')}) flags=(${options.map(described).join(' ')}) ;;`,
  )
  return `#compdef referral
# zsh completion of referral. Made by \`referral completion zsh\`.
_referral() {
  local where="" i
  local -a found flags
  for ((i = 2; i < CURRENT; i++)); do
    case "$where \${words[i]}" in
      ${pathCases(places)}) where="$where \${words[i]}" ;;
    esac
  done
  case "$where|\${words[CURRENT-1]}" in
${places.flatMap(valueCases).join('\n')}
  esac
  case "$where" in
${cases.join('\n')}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then _describe option flags
  elif (( \${#found} )); then _describe command found
  else _files
  fi
}
if [ "\${funcstack[1]}" = "_referral" ]; then _referral "$@"; else compdef _referral referral; fi
`
}
