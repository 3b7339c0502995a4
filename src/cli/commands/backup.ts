import { stat } from "node:fs/promises";
import type { Command } from "commander";
import { writeLines } from "../../library/lines.ts";
import type { EndLine } from "../../store/transfer/line.ts";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";
import { MisuseError } from "../exit-codes.ts";
import { bytesText } from "../format/sizes.ts";
import { countsText } from "../format/transfer.ts";

interface Flags extends ServerFlags {
	to: string;
	store?: string;
	keys?: boolean;
}

const LINES_PER_LOOK = 500;

export function addBackup(program: Command, context: CommandContext): void {
	const command = program
		.command("backup")
		.summary("write everything a server's store holds to a file")
		.description(
			"Writes everything to a new file of JSON lines while work goes on; needs an admin token. With --store, it reads the store itself; a SQLite store only while no server uses it. An unfinished file is removed. The command import reads the file into an empty store.",
		)
		.requiredOption("--to <file>", "the new file; one that exists is left alone")
		.option("--store <url>", "from this store instead of a server")
		.option("--keys", "also the keys that sign waitpoint tokens; protect such a file like a password");
	asksServer(command).action(async (flags: Flags) => {
		const keys = flags.keys === true;
		const last =
			flags.store === undefined
				? await atServer(context, flags, ({ backend }) => write(context, flags, backend.admin.backup({ keys })))
				: await write(context, flags, (await import("../../library/transfer.ts")).exportLines(flags.store, { keys }));
		const counts = (JSON.parse(last) as EndLine).end;
		const { size } = await stat(flags.to);
		if (flags.json) return context.terminal.json({ file: flags.to, bytes: size, keys, ...counts });
		context.terminal.print(`${flags.to}: ${bytesText(size)}, ${countsText(counts)}`);
		if (!keys) context.terminal.print("It holds no keys: where it is imported, tokens given out before are not valid.");
		context.terminal.print(`To restore it: flowfabric import ${flags.to} --store <url of an empty store>`);
	});
	examples(command, [
		"flowfabric backup --to backup.jsonl",
		"flowfabric backup --to secret.jsonl --keys",
		"flowfabric backup --store sqlite:./flowfabric.db --to backup.jsonl",
	]);
}

/** The last line, which counts the others. */
async function write(context: CommandContext, { to, keys }: Flags, lines: AsyncIterable<string>): Promise<string> {
	let last = "";
	let count = 0;
	let size = 0;
	const watched = async function* () {
		for await (const line of lines) {
			last = line;
			count += 1;
			size += line.length + 1;
			if (count % LINES_PER_LOOK === 0) context.terminal.status(`${count} lines, ${bytesText(size)}`);
			yield line;
		}
	};
	try {
		await writeLines(watched(), to, keys === true);
	} catch (error) {
		const { code, syscall } = error as NodeJS.ErrnoException;
		if (code === "EEXIST") throw new MisuseError(`--to: ${to} exists; name a new file`);
		if (syscall === "open") throw new MisuseError(`--to: ${to} cannot be written (${code})`);
		throw error;
	} finally {
		context.terminal.status("");
	}
	return last;
}
