import type { CompletionPoint } from './model.ts'

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`
const list = (words: readonly string[]) => `@(${words.map(quoted).join(', ')})`

export function powershell(places: readonly CompletionPoint[]): string {
  const words = places.map(
    ({ path, suggestions: words, options }) =>
      `    ${quoted(path)} = ${list([...words, ...options].map(({ word }) => word))}`,
  )
  const values = places.flatMap(({ path, options }) =>
    options
      .filter(({ choices }) => choices.length)
      .map(({ word, choices }) => `    ${quoted(`${path}|${word}`)} = ${list(choices)}`),
  )
  return `# PowerShell completion of referral. Made by \`referral completion powershell\`.
Register-ArgumentCompleter -Native -CommandName referral -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @{
${words.join('\n')}
  }
  $values = @{
${values.join('\n')}
  }
  $given = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })
  $where = ''
  foreach ($word in $given) {
    $further = "$where $word".Trim()
    if ($words.ContainsKey($further)) { $where = $further }
  }
  $last = if ($given.Count) { $given[-1] } else { '' }
  $found = if ($values.ContainsKey("$where|$last")) { $values["$where|$last"] } else { $words[$where] }
  $found | Where-Object { $_ -like "$wordToComplete*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`
}
