/**
 * Makes the cells of a CSV safe for spreadsheets, which compute what begins like a formula: such a
 * cell gets a `'` before it. Numbers stay what they are.
 */
export function withoutFormulas(): TransformStream<string, string> {
  let rest = "";
  return new TransformStream({
    transform(chunk, controller) {
      const [done, left] = safeCells(rest + chunk);
      rest = left;
      if (done !== "") controller.enqueue(done);
    },
    flush(controller) {
      if (rest !== "") controller.enqueue(safeCell(rest));
    },
  });
}

/** The complete cells of a string, made safe, and what is left. */
function safeCells(text: string): readonly [done: string, rest: string] {
  const cell = /("(?:[^"]|"")*"|[^,\r\n"]*)(,|\r\n|\n)/y;
  let done = "";
  let end = 0;
  for (let match = cell.exec(text); match !== null; match = cell.exec(text)) {
    done += safeCell(match[1] ?? "") + (match[2] ?? "");
    end = cell.lastIndex;
  }
  return [done, text.slice(end)];
}

function safeCell(cell: string): string {
  const text = cell.startsWith('"') ? cell.slice(1) : cell;
  if (!/^[=+\-@\t\r]/.test(text) || /^[+-]?[\d.]+(?:e[+-]?\d+)?"?$/i.test(text)) return cell;
  return cell.startsWith('"') ? `"'${text}` : `'${text}`;
}
