import type { Command } from "commander";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, type ServerFlags } from "../connection.ts";
import { examineServer } from "../doctor/examine-server.ts";
import type { Findings } from "../doctor/findings.ts";
import { MisuseError } from "../exit-codes.ts";
import { printFields } from "../format/table.ts";

interface Flags extends ServerFlags {
	store?: string;
	deep?: boolean;
	repair?: boolean;
}

export function addDoctor(program: Command, context: CommandContext): void {
	const command = program
		.command("doctor")
		.summary("check a server or a store")
		.description(
			"Checks a running server; or, with --store, a store itself: its setup, every record, and whether the index matches the records, which --repair corrects. A SQLite store can be checked only while no server uses it. Exit code 1 if something is wrong and was not repaired.",
		)
		.option("--store <url>", "check this store; opening it migrates a store of an earlier version")
		.option("--deep", "also read every record of a running server, through a backup; needs an admin token")
		.option("--repair", "with --store: correct the index where it does not match the records");
	asksServer(command).action(async (flags: Flags) => {
		if (flags.repair && flags.store === undefined) throw new MisuseError(NEEDS_STORE);
		const findings =
			flags.store === undefined
				? await examineServer(context, flags)
				: await examineStoreAt(context, flags.store, flags.repair ?? false);
		if (flags.json) context.terminal.json(findings);
		else print(context, findings);
		if (findings.problems.length > 0)
			context.end("answered in ms" in findings.facts || flags.store ? "failure" : "unreachable");
	});
	examples(command, [
		"flowfabric doctor",
		"flowfabric doctor --deep",
		"flowfabric doctor --store sqlite:./flowfabric.db --json",
		"flowfabric doctor --store valkey://localhost:6379",
		"flowfabric doctor --store sqlite:./flowfabric.db --repair",
	]);
}

const NEEDS_STORE = "--repair needs --store; a server that runs mends its index by itself, part by part";

function print({ terminal }: CommandContext, { facts, problems, mended = [] }: Findings): void {
	printFields(
		terminal,
		Object.entries(facts).map(([name, value]) => [name, typeof value === "object" ? counts(value) : String(value)]),
	);
	terminal.print();
	for (const line of mended) terminal.print(`${terminal.style("green", "mended")}   ${line}`);
	if (problems.length === 0) return terminal.print(terminal.style("green", "Nothing is wrong."));
	for (const problem of problems) terminal.print(`${terminal.style("red", "problem")}  ${problem}`);
}

function counts(value: Record<string, number>): string {
	const listed = Object.entries(value).map(([name, count]) => `${name} ${count}`);
	return listed.length > 0 ? listed.join(", ") : "none";
}

/** Loaded only now: no other client's command needs an engine. */
async function examineStoreAt(context: CommandContext, store: string, repair: boolean): Promise<Findings> {
	const { examineStore } = await import("../doctor/examine-store.ts");
	return examineStore(context, store, repair);
}
