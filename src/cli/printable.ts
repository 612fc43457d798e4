/** Removes control characters, because names in a database could rewrite the terminal. */
export function printable(line: string): string {
  return line.replace(/\p{Cc}/gu, "\ufffd");
}

/** Removes control characters except for newlines. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

/** Prints a value as JSON, or as a line for people. */
export function printValue(json: boolean, value: object, line: () => string): void {
  console.log(json ? JSON.stringify(value) : printable(line()));
}
