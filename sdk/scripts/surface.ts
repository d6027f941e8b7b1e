// Reads the documentation of every public function and method from the sources, and compiles the examples in it.
import ts from 'typescript'

const ENTRIES = ['index', 'admin', 'otel', 'msw', 'express', 'fastify', 'hono', 'next']
/** The entry points that export a middleware, under the same name. */
const FRAMEWORKS = /\/(express|fastify|hono|next)\.ts$/
const root = new URL('../src/', import.meta.url).pathname
const options: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  target: ts.ScriptTarget.ESNext,
  lib: ['lib.esnext.d.ts', 'lib.dom.d.ts'],
  module: ts.ModuleKind.NodeNext,
  allowImportingTsExtensions: true,
  types: ['node'],
}

/** A public function, or a method of a client, a result or an error. */
export interface PublicFunction {
  name: string
  parameters: string[]
  /** The names of the `@param` tags. */
  documented: string[]
  throws: string[]
  examples: string[]
  /** It returns a promise, or creates a client and checks its options. */
  mayThrow: boolean
}

/** Interfaces that callers implement, and the inside of a client. */
const NOT_CALLED = [
  ...['Logger', 'Core', 'FetchedResponse', 'ReferralClient', 'AdminClient'],
  ...['ExpressResponse', 'FastifyReply', 'HonoContext'],
]

/** Lists every function and method that the entry points export. */
export const publicFunctions = (): PublicFunction[] => {
  const files = ENTRIES.map((name) => `${root}${name}.ts`)
  const program = ts.createProgram(files, options)
  const checker = program.getTypeChecker()
  const found = new Map<string, PublicFunction>()

  const tagsOf = (symbol: ts.Symbol) => {
    const tags = symbol.getJsDocTags(checker)
    const textsOf = (tag: string) =>
      tags.filter((one) => one.name === tag).map(({ text }) => ts.displayPartsToString(text).trim())
    return { params: textsOf('param'), throws: textsOf('throws'), examples: textsOf('example') }
  }
  const add = (name: string, symbol: ts.Symbol, signature: ts.Signature) => {
    const { params, throws, examples } = tagsOf(symbol)
    const returned = checker.typeToString(signature.getReturnType())
    found.set(name, {
      name,
      parameters: signature.parameters.map((one) => one.name),
      documented: params.map((text) => text.split(/\s/)[0]!),
      throws,
      examples,
      mayThrow: /^(Call|PagedCall|Promise)</.test(returned) || /^create[A-Z]/.test(symbol.name),
    })
  }
  const isOwn = ({ declarations }: ts.Symbol) =>
    Boolean(declarations?.some((one) => one.getSourceFile().fileName.startsWith(root)))
  const addMethods = (prefix: string, type: ts.Type) => {
    for (const property of type.getProperties().filter(isOwn)) {
      const declared = property.valueDeclaration
      // Inherited methods are documented where they are declared.
      if (declared && ts.isInterfaceDeclaration(declared.parent) && declared.parent.name.text !== prefix) continue
      // Properties whose type is a function, as those of the raw client, are documented at their interface.
      if (!declared || ts.isPropertySignature(declared) || ts.isGetAccessor(declared)) continue
      const [signature] = checker.getTypeOfSymbol(property).getCallSignatures()
      if (signature && !property.name.startsWith('__')) add(`${prefix}.${property.name}`, property, signature)
    }
  }

  for (const file of files) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(file)!)!
    for (const exported of checker.getExportsOfModule(module)) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      const { name } = symbol
      if (!isOwn(symbol) || symbol.declarations?.[0]?.getSourceFile().fileName.endsWith('/schema.ts')) continue
      if (name === 'ReferralClient' || name === 'AdminClient') {
        for (const resource of checker.getDeclaredTypeOfSymbol(symbol).getProperties())
          addMethods(
            `${name === 'AdminClient' ? 'admin' : 'client'}.${resource.name}`,
            checker.getTypeOfSymbol(resource),
          )
      } else if (symbol.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Interface)) {
        if (!NOT_CALLED.includes(name)) addMethods(name, checker.getDeclaredTypeOfSymbol(symbol))
        // The raw client is documented as a whole.
        const { throws, examples } = tagsOf(symbol)
        if (examples.length) found.set(name, { name, parameters: [], documented: [], throws, examples, mayThrow: true })
      } else if (symbol.flags & ts.SymbolFlags.Value) {
        const [signature] = checker.getTypeOfSymbol(symbol).getCallSignatures()
        const framework = FRAMEWORKS.exec(file)?.[1]
        if (signature) add(framework ? `${framework}.${name}` : name, symbol, signature)
      }
    }
  }
  return [...found.values()]
}

/** The other imports are names of the prelude. */
const FROM_FRAMEWORK = 'const { $1 } = await load($2)'

/**
 * Type-checks examples.
 *
 * @param prelude declares the names that the examples use
 * @param folder where their imports are resolved from
 * @returns the errors, and the JavaScript of each example, without its imports
 */
export const compileExamples = (
  prelude: string,
  examples: string[],
  folder: string,
): { problems: string[]; scripts: string[] } => {
  const bodies = examples.map((example) =>
    example
      .replaceAll(/^import \{ (\w+) \} from ('@referral\/sdk\/(?:express|fastify|hono|next)')$/gm, FROM_FRAMEWORK)
      .replaceAll(/^import .*\n/gm, ''),
  )
  const text = `${prelude}\n${bodies.map((body, i) => `async function example${i}() {\n${body}\n}`).join('\n')}\n`
  const name = `${folder}/examples.virtual.ts`
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists } = host
  host.fileExists = (file) => file === name || fileExists(file)
  host.getSourceFile = (file, ...rest) =>
    file === name ? ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true) : getSourceFile(file, ...rest)
  const program = ts.createProgram([name], options, host)
  const file = program.getSourceFile(name)
  const problems = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map(
    ({ messageText, start = 0 }) => {
      const line = text.slice(text.lastIndexOf('\n', start) + 1, text.indexOf('\n', start))
      return `${ts.flattenDiagnosticMessageText(messageText, ' ')} (${line.trim()})`
    },
  )
  const compilerOptions = { target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext }
  return { problems, scripts: bodies.map((body) => ts.transpileModule(body, { compilerOptions }).outputText) }
}
