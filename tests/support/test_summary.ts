import { stripVTControlCharacters } from "node:util";

/** What a whole run of `deno test` came to. */
export interface TestSummary {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** How many tests each reason skipped. */
  readonly skipReasons: ReadonlyMap<string, number>;
  /** The errors of the failed tests, as printed; of very many lines the first, and all names. */
  readonly errors: readonly string[];
}

/**
 * Reads the output of `deno test` line by line; {@link TestOutputReader.summary} is null as long as
 * the closing line has not come, for instance because a test file does not compile.
 */
export interface TestOutputReader {
  read(line: string): void;
  summary(): TestSummary | null;
}

/** A reader for the output of the pretty reporter. */
export function testOutputReader(): TestOutputReader {
  const skipReasons = new Map<string, number>();
  const errors: string[] = [];
  let isInErrors = false;
  let summary: TestSummary | null = null;
  return {
    read(coloured) {
      const line = stripVTControlCharacters(coloured);
      if (line === " ERRORS ") isInErrors = true;
      else if (line === " FAILURES ") isInErrors = false;
      else if (isInErrors && (errors.length < maxErrorLines || failedTest.test(line))) {
        errors.push(line);
      }
      // A step is indented; like the closing line, the count of reasons is one of tests.
      const skipped = /^\S.* \.\.\. ignored \(/.exec(line);
      if (skipped !== null) {
        const reason = / \[skipped: (.+)\] \.\.\. ignored \(/.exec(line)?.[1] ?? unnamedReason;
        skipReasons.set(reason, (skipReasons.get(reason) ?? 0) + 1);
      }
      const closing = closingLine.exec(line);
      if (closing !== null) {
        const [, passed, failed, ignored] = closing;
        summary = {
          passed: Number(passed),
          failed: Number(failed),
          skipped: Number(ignored ?? 0),
          skipReasons,
          errors,
        };
      }
    },
    summary: () => summary,
  };
}

/** What several runs came to; one that ended before its closing line counts as one failure. */
export function sumOf(summaries: readonly (TestSummary | null)[]): TestSummary {
  const skipReasons = new Map<string, number>();
  const sum = { passed: 0, failed: 0, skipped: 0 };
  for (const summary of summaries) {
    sum.passed += summary?.passed ?? 0;
    sum.failed += summary?.failed ?? 1;
    sum.skipped += summary?.skipped ?? 0;
    for (const [reason, count] of summary?.skipReasons ?? []) {
      skipReasons.set(reason, (skipReasons.get(reason) ?? 0) + count);
    }
  }
  return { ...sum, skipReasons, errors: summaries.flatMap((summary) => summary?.errors ?? []) };
}

/** What a test is counted under that was ignored without `testUnless`. */
export const unnamedReason = "no reason given";

const maxErrorLines = 60;

/** The heading of an error: the name of its test, and where that is defined. */
const failedTest = / => \S+:\d+:\d+$/;

const closingLine =
  /^(?:ok|FAILED) \| (\d+) passed(?: \([^)]*\))? \| (\d+) failed(?: \([^)]*\))?(?: \| (\d+) ignored)?/;
