import { checkProgram, type TypeError } from "./check_program.ts";
import { inferApiProgram } from "./client/infer_api_program.ts";
import { manyResourcesProgram } from "./client/many_resources.ts";
import { probesProgram } from "./client/probes.ts";
import { writtenTypesProgram } from "./client/written_types_program.ts";
import { mistakeProgram } from "./mistake_program.ts";
import { rightsGuide } from "../examples/rights_guide.ts";
import { rightsMistakeProgram } from "./rights_mistakes.ts";

/** The programs of several tests under the default options, each in a folder of its own. */
const programs = {
  mistakes: mistakeProgram("$1"),
  corrections: { ...mistakeProgram("$2"), "cli.ts": `import "@svc/resource-api/cli";` },
  rightsMistakes: rightsMistakeProgram("$1"),
  rightsCorrections: { ...rightsMistakeProgram("$2"), "guide.ts": rightsGuide },
  inferApi: inferApiProgram,
  writtenTypes: writtenTypesProgram,
  probes: probesProgram,
  // All count for the type of the client; a further use is checked as those before it.
  manyResources: manyResourcesProgram(200, 40),
} satisfies Record<string, Readonly<Record<string, string>>>;

const checked: { all?: Promise<readonly TypeError[]> } = {};

/**
 * The errors in the files of a program, and those in the package. All programs are checked at once,
 * by the first test that asks: most of a check goes into the package, which they share.
 */
export async function errorsIn(name: keyof typeof programs): Promise<readonly TypeError[]> {
  checked.all ??= checkProgram(Object.fromEntries(
    Object.entries(programs).flatMap(([folder, files]) =>
      Object.entries(files).map(([file, text]) => [`${folder}/${file}`, text])
    ),
  ));
  const others = Object.keys(programs).filter((other) => other !== name);
  return (await checked.all)
    .filter(({ file }) => !others.some((other) => file.startsWith(`${other}/`)))
    .map((error) => ({ ...error, file: error.file.replace(`${name}/`, "") }));
}
