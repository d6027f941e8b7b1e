import { configureGlobal } from 'fast-check'

// A mutant is killed by the first counterexample; looking for the smallest one would take most of the time.
configureGlobal({ seed: 20261121, endOnFailure: true, interruptAfterTimeLimit: 250 })
