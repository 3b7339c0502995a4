import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
import type { Command } from "commander";
import { withoutPassword } from "../../store/shown-url.ts";
import { type CommandContext, examples } from "../command-context.ts";
import { withJson } from "../connection.ts";
import { MisuseError } from "../exit-codes.ts";
import { numberFlag } from "../flag-values.ts";
import { bar } from "../format/bar.ts";
import { bytesText } from "../format/sizes.ts";
import { countsText } from "../format/transfer.ts";

interface Flags {
	store: string;
	partitions?: number;
	json?: boolean;
}

export function addImport(program: Command, context: CommandContext): void {
	const command = program
		.command("import <file>")
		.summary("import a backup into an empty store")
		.description(
			"Imports a file that backup wrote into an empty store, which may be of another type and have another number of partitions. A store that is not empty is refused and left unchanged. If it fails half-way the store holds a part: begin again with an empty one. No server may run on a store on SQLite meanwhile.",
		)
		.requiredOption("--store <url>", "the store to fill, as in sqlite:./restored.db; made if it is not there")
		.option("--partitions <number>", "partitions of a new store", numberFlag(1, 256));
	withJson(command).action(async (file: string, { store, partitions, json }: Flags) => {
		const { importLines, linesOf } = await import("../../library/transfer.ts");
		const counts = await importLines(
			linesOf(await watched(context, file)),
			store,
			partitions === undefined ? {} : { partitions },
			file,
		).finally(() => context.terminal.status(""));
		if (json) return context.terminal.json({ file, store: withoutPassword(store), ...counts });
		context.terminal.print(`${withoutPassword(store)} now holds what is in ${file}: ${countsText(counts)}`);
	});
	examples(command, [
		"flowfabric import backup.jsonl --store sqlite:./restored.db",
		"flowfabric import backup.jsonl --store valkey://localhost:6379 --partitions 64",
	]);
}

/** The file, with a bar that shows how much of it has been read. */
async function watched(context: CommandContext, file: string): Promise<Readable> {
	const { size } = await stat(file).catch((error: NodeJS.ErrnoException) => {
		throw new MisuseError(`${file}: cannot be read (${error.code})`);
	});
	const read = async function* () {
		let seen = 0;
		for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
			seen += chunk.length;
			context.terminal.status(`${bar((100 * seen) / size)}  ${bytesText(seen)} of ${bytesText(size)} read`);
			yield chunk;
		}
	};
	return Readable.from(read(), { objectMode: false });
}
