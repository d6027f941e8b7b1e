import ts from 'typescript'

const fileOf = (entry: string) => new URL(`../src/${entry}.ts`, import.meta.url).pathname
const program = ts.createProgram(['index', 'admin', 'otel', 'msw', 'express', 'fastify', 'hono', 'next'].map(fileOf), {
  strict: true,
  noEmit: true,
  target: ts.ScriptTarget.ESNext,
  module: ts.ModuleKind.NodeNext,
  allowImportingTsExtensions: true,
  types: [],
})
const checker = program.getTypeChecker()
const flags = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseSingleQuotesForStringLiteralType

/** A name with its type and its TSDoc. */
export interface Entry {
  name: string
  /** The text after the name: `(id: string): Call<Affiliate>`, `: string` or ` = A | B`. */
  type: string
  doc: string
  /** The `@throws` tags. */
  throws: string[]
}

/** An export of the package. */
export interface Exported extends Entry {
  kind: 'class' | 'function' | 'type'
  /** The exported type it extends. */
  extends: string | undefined
  members: Entry[]
}

const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim()

// openapi-typescript writes descriptions as a tag and formats as plain text.
const docOf = (symbol: ts.Symbol) => {
  const described = symbol.getJsDocTags(checker).find(({ name }) => name === 'description')
  const text = ts.displayPartsToString(described?.text ?? symbol.getDocumentationComment(checker))
  return oneLine(text).replace(/^Format: .*/, '')
}

// `{NotFoundError} …` becomes `NotFoundError` in backticks.
const throwsOf = (symbol: ts.Symbol) =>
  symbol
    .getJsDocTags(checker)
    .filter(({ name }) => name === 'throws')
    .map(({ text }) => oneLine(ts.displayPartsToString(text)).replace(/^\{(.*?)\}/, '`$1`'))

const printed = (type: ts.Type) => checker.typeToString(type, undefined, flags).replaceAll(' | undefined', '')

const signature = (declaration: ts.SignatureDeclaration) => {
  const { parameters, type } = declaration
  const returned = type?.getText() ?? printed(checker.getSignatureFromDeclaration(declaration)!.getReturnType())
  return oneLine(`(${parameters.map((one) => one.getText()).join(', ')}): ${returned}`)
}

const aliased = (symbol: ts.Symbol, { type }: ts.TypeAliasDeclaration) =>
  type.getText().startsWith('Open<')
    ? checker.typeToString(checker.getDeclaredTypeOfSymbol(symbol), undefined, flags | ts.TypeFormatFlags.InTypeAlias)
    : oneLine(type.getText())

const typeText = (symbol: ts.Symbol): string => {
  const declared = symbol.valueDeclaration ?? symbol.declarations?.[0]
  const value = declared && 'initializer' in declared ? (declared.initializer as ts.Expression | undefined) : undefined
  if (value && ts.isArrowFunction(value)) return signature(value)
  if (declared && ts.isMethodSignature(declared)) return signature(declared)
  if (declared && ts.isMethodDeclaration(declared)) return signature(declared)
  if (declared && ts.isTypeAliasDeclaration(declared)) return ` = ${aliased(symbol, declared)}`
  return `: ${printed(checker.getTypeOfSymbol(symbol))}`
}

const toEntry = (symbol: ts.Symbol): Entry => {
  const isOptional = symbol.flags & ts.SymbolFlags.Optional
  return {
    name: symbol.name + (isOptional ? '?' : ''),
    type: typeText(symbol),
    doc: docOf(symbol),
    throws: throwsOf(symbol),
  }
}

const isFromSdk = ({ name, declarations }: ts.Symbol) =>
  !/^(__|#)/.test(name) && Boolean(declarations?.some((one) => one.getSourceFile().fileName.includes('/sdk/src/')))

const exportsOf = (entry: string) =>
  checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(fileOf(entry))!)!)
const exportedSymbols = exportsOf('index')
const names = new Set(exportedSymbols.map(({ name }) => name))
const resolve = (symbol: ts.Symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol)

/** Returns the first exported type that a class or an interface extends. */
const baseOf = (symbol: ts.Symbol) =>
  symbol.declarations
    ?.flatMap((one) => ('heritageClauses' in one ? ((one as ts.InterfaceDeclaration).heritageClauses ?? []) : []))
    .flatMap(({ types }) => types.map(({ expression }) => expression.getText()))
    .find((name) => names.has(name))

const membersOf = (symbol: ts.Symbol, base: string | undefined): ts.Symbol[] => {
  const type = checker.getDeclaredTypeOfSymbol(symbol)
  // An input is a union where one of several fields is required; all its members have the same fields.
  const isInput = /RequireOne<|OmitEach<|= RequestBody</.test(symbol.declarations?.[0]?.getText() ?? '')
  if (type.isUnion() && !isInput) return []
  const isOwn = ({ declarations }: ts.Symbol) =>
    declarations?.some(({ parent }) => symbol.declarations?.includes(parent as never))
  return type.getProperties().filter((member) => isFromSdk(member) && (!base || isOwn(member)))
}

const toExported = (alias: ts.Symbol): Exported => {
  const symbol = resolve(alias)
  const kind = symbol.flags & ts.SymbolFlags.Class ? 'class' : symbol.flags & ts.SymbolFlags.Value ? 'function' : 'type'
  const base = baseOf(symbol)
  const members = kind === 'function' ? [] : membersOf(symbol, base).map(toEntry)
  return { ...toEntry(symbol), name: alias.name, kind, extends: base, members }
}

/** The package's exports, each with its own members. */
export const exported: Exported[] = exportedSymbols.map(toExported)

/** The exports of another entry point. */
export const exportedBy = (entry: 'admin' | 'otel' | 'msw' | 'express' | 'fastify' | 'hono' | 'next'): Exported[] =>
  exportsOf(entry).map(toExported)

/** The methods of a resource of a client. */
export const methodsOf = (clientName: 'ReferralClient' | 'AdminClient', resource: string): Entry[] => {
  const client = resolve([...exportedSymbols, ...exportsOf('admin')].find(({ name }) => name === clientName)!)
  const property = checker.getDeclaredTypeOfSymbol(client).getProperty(resource)!
  return checker.getTypeOfSymbol(property).getProperties().map(toEntry)
}
