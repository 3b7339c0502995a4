import type { Command } from "commander";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";
import { MisuseError } from "../exit-codes.ts";
import { EFFECTS, payloadOf, waitedFor } from "../said.ts";

interface Flags extends ServerFlags {
	reject?: boolean;
	name?: string;
	waitpoint?: string;
	as?: string;
	text?: boolean;
}

export function addApprove(program: Command, context: CommandContext): void {
	const command = program
		.command("approve <id> [payload]")
		.summary("approve or reject an execution that waits for a person")
		.description(
			"Answers an execution that waits for a person: sends it the signal approve, or another. The payload is JSON. This needs the token of an operator, not the token of the waitpoint.",
		)
		.option("--reject", "reject: send the signal reject")
		.option("--name <name>", "send this signal instead")
		.option("--waitpoint <key>", "the waitpoint to answer; by default the first it waits for")
		.option("--as <identity>", "who answers; by default the token's name")
		.option("--text", "the payload is plain text rather than JSON");
	asksServer(command).action(
		(id: string, argument: string | undefined, { reject, name, waitpoint, as: identity, text, ...flags }: Flags) => {
			if (reject && name !== undefined) throw new MisuseError("--reject and --name: choose one");
			const request = {
				name: name ?? (reject ? "reject" : "approve"),
				...payloadOf(argument, text),
				...(waitpoint === undefined ? undefined : { waitpoint }),
				...(identity === undefined ? undefined : { identity }),
			};
			return atServer(context, flags, async (ff) => {
				const { terminal } = context;
				const answer = await ff.approve(id, request);
				if (answer.effect === "ignored") context.end("refused");
				if (flags.json) return terminal.json({ id, ...answer });
				terminal.print(`${id} ${EFFECTS[answer.effect]}`);
				if (answer.effect !== "ignored") return;
				terminal.note(`It waits for ${waitedFor((await ff.waitpoints.list(id)).waitpoints)}.`);
			});
		},
	);
	examples(command, [
		"flowfabric approve ex_…",
		`flowfabric approve ex_… '{"note": "fine"}' --as ann`,
		"flowfabric approve ex_… --reject --text 'too dear'",
		`flowfabric approve ex_… '{"dimensions": {"tokens": {"hard": 500000}}}' --waitpoint budget:team-a`,
	]);
}
