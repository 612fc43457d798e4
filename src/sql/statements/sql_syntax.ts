/** How an engine writes SQL, for the functions that compare its expressions and split its scripts. */
export interface SqlSyntax {
  /** Matches each token of an expression. */
  readonly tokens: RegExp;
  /** Returns the words of an expression without those that the engine's catalog adds. */
  bareWords(words: readonly string[]): readonly string[];
  /** Matches the token of a script that begins at `lastIndex`, because it is sticky. */
  readonly scriptTokens: RegExp;
  /**
   * Returns the end of a token of which the pattern matches only the beginning. Returns -1 if it is
   * not closed, and null if the pattern matched all of it.
   */
  endOf(script: string, at: number, token: string): number | null;
}
