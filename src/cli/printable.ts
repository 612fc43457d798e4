/** Replaces control characters: a name in the database could otherwise control the terminal. */
export function printable(line: string): string {
  return line.replace(/\p{Cc}/gu, "\ufffd");
}

/** Replaces control characters except line breaks. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

export function printValue(json: boolean, value: object, line: () => string): void {
  console.log(json ? JSON.stringify(value) : printable(line()));
}
