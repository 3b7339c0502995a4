import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import type { FlowFabric } from "../../library/flowfabric.ts";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";
import { MisuseError } from "../exit-codes.ts";
import { EFFECTS, payloadOf } from "../said.ts";
import { readAll } from "../stdin.ts";

interface Flags extends ServerFlags {
	waitpoint?: string;
	waitpointTokenFile?: string;
	text?: boolean;
	source?: { type: string; identity: string };
	idempotencyKey?: string;
}

export function addSignal(program: Command, context: CommandContext): void {
	const command = program
		.command("signal <id> <name> [payload]")
		.summary("send a signal to a waitpoint of an execution")
		.description(
			"Sends a signal to a waitpoint of an execution. The payload is JSON. The waitpoint's token comes from a file or a pipe; without one the server is asked for it, which needs the token of an operator.",
		)
		.option("--waitpoint <id|key>", "the waitpoint; by default the first one waited for, or else the first open one")
		.option("--waitpoint-token-file <path>", "file with the token of the waitpoint; - reads it from standard input")
		.option("--source <type:identity>", "who sends it", sourceFlag)
		.option("--idempotency-key <key>", "a signal sent again with this key within 24 hours counts once")
		.option("--text", "the payload is plain text rather than JSON");
	asksServer(command).action(
		async (id: string, name: string, argument: string | undefined, { source, idempotencyKey, ...flags }: Flags) => {
			const said = {
				name,
				...payloadOf(argument, flags.text),
				...(source === undefined ? undefined : { source }),
				...(idempotencyKey === undefined ? undefined : { idempotencyKey }),
			};
			const token = await givenToken(context, flags);
			await atServer(context, flags, async (ff) => {
				const waitpointId = await waitpointOf(ff, id, flags.waitpoint);
				const answer = await ff.signal(id, {
					waitpointId,
					token: token ?? (await ff.waitpoints.token(id, waitpointId)).token,
					...said,
				});
				if (answer.effect === "ignored") context.end("refused");
				if (flags.json) return context.terminal.json({ id, waitpointId, ...answer });
				const again = answer.status === "duplicate" ? " (was sent already)" : "";
				context.terminal.print(`${id} ${EFFECTS[answer.effect]}${again}`);
			});
		},
	);
	examples(command, [
		`flowfabric signal ex_… paid '{"amount": 12}'`,
		"flowfabric signal ex_… approve --waitpoint legal --source person:ann",
		"flowfabric signal ex_… done --waitpoint wp_… --waitpoint-token-file token.txt",
	]);
}

function sourceFlag(text: string): { type: string; identity: string } {
	const colon = text.indexOf(":");
	if (colon < 1 || colon === text.length - 1)
		throw new MisuseError("--source: must be type:identity, as in person:ann");
	return { type: text.slice(0, colon), identity: text.slice(colon + 1) };
}

/** Others on this machine may see arguments. */
async function givenToken(context: CommandContext, { waitpointTokenFile: path }: Flags): Promise<string | undefined> {
	if (path === undefined) return undefined;
	if (path === "-") return (await readAll(context.stdin)).toString().trim();
	const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
		throw new MisuseError(`--waitpoint-token-file: ${path} cannot be read (${error.code})`);
	});
	return bytes.toString().trim();
}

/** Whoever names one by its id needs nothing but its token. */
async function waitpointOf(ff: FlowFabric, id: string, named: string | undefined): Promise<string> {
	if (named?.startsWith("wp_")) return named;
	const { waitpoints } = await ff.waitpoints.list(id, { limit: 1000 });
	const open = named === undefined ? waitpoints : waitpoints.filter(({ key }) => key === named);
	const found = open.find(({ state }) => state === "active") ?? open[0];
	if (found) return found.id;
	throw new MisuseError(`--waitpoint: ${id} has no open waitpoint${named === undefined ? "" : ` ${named}`}`);
}
