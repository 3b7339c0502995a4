import type { Command } from "commander";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";
import { MisuseError } from "../exit-codes.ts";
import { printExecution } from "../format/execution.ts";
import { printFailureDetail } from "../format/failure.ts";
import { printSteps } from "../format/steps.ts";
import { printWaitpoints } from "../format/waitpoints.ts";
import { allPages, WHOLE_PAGE } from "../pages.ts";
import { payloadFields, writePayload } from "../payloads.ts";

interface Flags extends ServerFlags {
	input?: boolean;
	result?: boolean;
	steps?: boolean;
}

export function addGet(program: Command, context: CommandContext): void {
	const command = program
		.command("get <id>")
		.summary("show an execution, and why it is not running")
		.description("Shows an execution: its state, why it is not running, its attempts, lease and times.")
		.option("--input", "only its input, byte for byte (with --json: in the document)")
		.option("--result", "only its result, byte for byte (with --json: in the document)")
		.option("--steps", "only the steps its handler has recorded (with --json: in the document)");
	asksServer(command).action((id: string, flags: Flags) =>
		atServer(context, flags, async ({ waitpoints, backend: { executions } }) => {
			const { terminal } = context;
			const steps = () =>
				allPages(async (cursor) => {
					const page = await executions.steps(id, { ...cursor, limit: WHOLE_PAGE });
					return { rows: page.steps, nextCursor: page.nextCursor };
				});
			if (flags.json) {
				return terminal.json({
					...(await executions.get(id)),
					...(flags.input ? payloadFields("input", await executions.input(id)) : undefined),
					...(flags.result ? payloadFields("result", await executions.result(id)) : undefined),
					...(flags.steps ? { steps: await steps() } : undefined),
				});
			}
			const chosen = (["input", "result", "steps"] as const).filter((part) => flags[part]).map((part) => `--${part}`);
			if (chosen.length > 1) throw new MisuseError(`${chosen.join(" and ")}: choose one, or use --json`);
			if (flags.steps) return printSteps(terminal, await steps());
			if (flags.result) return writePayload(terminal, await executions.result(id));
			if (flags.input) {
				const input = await executions.input(id);
				return input ? writePayload(terminal, input) : terminal.note(`${id} has no input`);
			}
			const execution = await executions.get(id);
			printExecution(terminal, execution, Date.now());
			if (execution.failure?.detail) {
				terminal.print();
				printFailureDetail(terminal, execution.failure.detail);
			}
			if (execution.publicState !== "suspended") return;
			const open = await waitpoints.list(id);
			if (open.waitpoints.length === 0) return;
			terminal.print();
			printWaitpoints(terminal, open.waitpoints, Date.now());
		}),
	);
	examples(command, [
		"flowfabric get ex_…",
		"flowfabric get ex_… --result > picture.png",
		"flowfabric get ex_… --steps",
		"flowfabric get ex_… --json | jq .publicState",
	]);
}
