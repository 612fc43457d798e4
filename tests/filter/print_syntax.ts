import type { FilterSyntax } from "../../src/filter/syntax/filter_syntax.ts";
import { quotePath } from "../../src/filter/syntax/quoted_name.ts";

/** Returns a syntax tree as a string that parses to the same tree with other positions. */
export function printSyntax(syntax: FilterSyntax): string {
  switch (syntax.kind) {
    case "and":
    case "or":
      return syntax.terms.map((term) => {
        const isGroup = term.kind === "or" || (term.kind === "and" && syntax.kind === "and");
        return isGroup ? `(${printSyntax(term)})` : printSyntax(term);
      }).join(syntax.kind === "and" ? ";" : ",");
    case "some":
    case "none":
    case "every":
      return `${quotePath(syntax.path)}.${syntax.kind}(${printSyntax(syntax.term)})`;
    case "not":
      return `not(${printSyntax(syntax.term)})`;
    case "inserted":
      throw new Error("A filter in a request has no interpolated term");
    case "compare": {
      const { field, operator, list, values } = syntax;
      const texts = values.map(({ text, quoted }) =>
        quoted ? `"${text.replace(/["\\]/g, "\\$&")}"` : text
      );
      return `${field}${operator}${list ? `(${texts.join(",")})` : texts.join()}`;
    }
  }
}
