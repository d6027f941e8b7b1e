/** Whether the server runs from TypeScript source (a git clone) rather than from the built package. */
export const runsFromSource: boolean = import.meta.filename.endsWith('.ts')
