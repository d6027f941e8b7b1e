import type { Reporter, TestCase, TestModule } from 'vitest/node'

/** Names what did not run, at the end, where it is seen: nothing is green without having run. */
export default class Skipped implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const lines = modules.flatMap((module) => {
      const skipped = [...module.children.allTests('skipped')].map((test) => test.name + reasonOf(test))
      return skipped.length > 0
        ? [`  ${module.relativeModuleId} (${module.project.name})`, ...skipped.map((one) => `    ${one}`)]
        : []
    })
    if (lines.length > 0) console.warn(['', 'Not run:', ...lines, ''].join('\n'))
  }
}

function reasonOf(test: TestCase): string {
  const result = test.result()
  return result.state === 'skipped' && result.note ? `: ${result.note}` : ''
}
