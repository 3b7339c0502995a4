import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import type { CreateRequest } from "../../contract/executions.ts";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";
import { MisuseError } from "../exit-codes.ts";
import { durationFlag, jsonFlag, momentFlag, numberFlag, tagFlag } from "../flag-values.ts";
import { listFlag } from "../guard-flags.ts";
import { readAll } from "../stdin.ts";
import { waitAndTell } from "../waiting.ts";

interface Flags extends ServerFlags {
	inputFile?: string;
	text?: boolean;
	contentType?: string;
	lane?: string;
	priority?: number;
	delay?: number;
	notBefore?: number;
	capability?: string[];
	fairnessKey?: string;
	createdBy?: string;
	traceparent?: string;
	idempotencyKey?: string;
	tag?: Record<string, string>;
	policy?: CreateRequest["policy"];
	budget?: string[];
	quota?: string[];
	reserve?: CreateRequest["reserve"];
	namespace?: string;
	wait?: boolean;
	timeout?: number;
}

export function addSubmit(program: Command, context: CommandContext): void {
	const command = program
		.command("submit <kind> [input]")
		.summary("submit work")
		.description("Submits an execution of a kind. The input is JSON, or - to read it from standard input.")
		.option("--input-file <path>", "read the input from a file")
		.option("--text", "the input is plain text rather than JSON")
		.option("--content-type <type>", "the input is bytes of this media type rather than JSON")
		.option("--lane <lane>", "queue it waits in")
		.option("--namespace <namespace>", "namespace it belongs to")
		.option("--priority <number>", "higher runs first", numberFlag(0, 9000))
		.option("--delay <duration>", "start no earlier than this long from now, as in 10s", durationFlag)
		.option("--not-before <time>", "start no earlier than this time, as in 2026-01-31T12:00:00Z", momentFlag)
		.option("--capability <name>", "what its worker must offer; may be given several times", listFlag)
		.option("--fairness-key <key>", "such as a customer's id; within a priority, keys are served in turn")
		.option("--idempotency-key <key>", "submitting again with this key gives the first execution")
		.option("--tag <key=value>", "a tag to find it by; may be given several times", tagFlag)
		.option("--budget <id>", "a budget that must admit it; may be given several times", listFlag)
		.option("--quota <id>", "a quota that must admit it; may be given several times", listFlag)
		.option("--reserve <json>", "what to reserve for it: {budget: {dimension: amount}}", jsonFlag)
		.option("--policy <json>", "retries, timeouts and the like, as in the API", jsonFlag)
		.option("--created-by <name>", "who asked for it; by default the token's name")
		.option("--traceparent <context>", "the W3C trace it belongs to")
		.option("--wait", "wait until it ends and show how it ended")
		.option("--timeout <duration>", "wait no longer than this", durationFlag);
	asksServer(command).action(async (kind: string, argument: string | undefined, flags: Flags) => {
		const request = { kind, ...fields(flags), ...(await inputFields(context, argument, flags)) };
		await atServer(context, flags, async (ff) => {
			const created = await ff.backend.executions.create(request);
			if (flags.wait) {
				if (!flags.json) context.terminal.note(submitted(created.id, created.created));
				const limit = flags.timeout === undefined ? undefined : { timeoutMs: flags.timeout };
				return waitAndTell(context, ff, created.id, { ...limit, json: flags.json === true });
			}
			if (flags.json) context.terminal.json(created);
			else context.terminal.print(submitted(created.id, created.created));
		});
	});
	examples(command, [
		`flowfabric submit greet '{"name": "world"}' --wait`,
		"flowfabric submit summarize --text 'a long story' --lane slow --priority 5",
		`flowfabric submit report --delay 10m --policy '{"retry": {"maxRetries": 5}}'`,
		"flowfabric submit render --capability gpu --capability eu --fairness-key acme",
		"flowfabric submit draft --budget team-a --quota openai",
		"cat picture.png | flowfabric submit resize - --content-type image/png",
	]);
}

const submitted = (id: string, created: boolean): string => (created ? id : `${id} (was there already)`);

function fields(flags: Flags): Partial<CreateRequest> {
	const { lane, namespace, priority, delay, notBefore, idempotencyKey, tag, policy, budget, quota, reserve } = flags;
	const { capability, fairnessKey, createdBy, traceparent } = flags;
	if (delay !== undefined && notBefore !== undefined) throw new MisuseError("--delay and --not-before: choose one");
	return {
		...(lane === undefined ? undefined : { lane }),
		...(namespace === undefined ? undefined : { namespace }),
		...(priority === undefined ? undefined : { priority }),
		...(delay === undefined ? undefined : { delayMs: delay }),
		...(notBefore === undefined ? undefined : { delayUntil: notBefore }),
		...(capability === undefined ? undefined : { requiredCapabilities: capability }),
		...(fairnessKey === undefined ? undefined : { fairnessKey }),
		...(createdBy === undefined ? undefined : { createdBy }),
		...(traceparent === undefined ? undefined : { traceparent }),
		...(idempotencyKey === undefined ? undefined : { idempotencyKey }),
		...(tag === undefined ? undefined : { tags: tag }),
		...(policy === undefined ? undefined : { policy }),
		...(budget === undefined ? undefined : { budgets: budget }),
		...(quota === undefined ? undefined : { quotas: quota }),
		...(reserve === undefined ? undefined : { reserve }),
	};
}

async function inputFields(
	context: CommandContext,
	argument: string | undefined,
	flags: Flags,
): Promise<Partial<CreateRequest>> {
	const bytes = await inputBytes(context, argument, flags);
	if (bytes === undefined) return {};
	if (flags.contentType !== undefined) return { inputBase64: bytes.toString("base64"), contentType: flags.contentType };
	if (flags.text) return { input: bytes.toString(), contentType: "text/plain" };
	try {
		return { input: JSON.parse(bytes.toString()) };
	} catch {
		throw new MisuseError("input: must be JSON; use --text for plain text, --content-type for anything else");
	}
}

async function inputBytes(
	context: CommandContext,
	argument: string | undefined,
	flags: Flags,
): Promise<Buffer | undefined> {
	if (flags.inputFile !== undefined) {
		if (argument !== undefined) throw new MisuseError("input: give it as an argument or as --input-file, not both");
		return readFile(flags.inputFile).catch((error: NodeJS.ErrnoException) => {
			throw new MisuseError(`--input-file: ${flags.inputFile} cannot be read (${error.code})`);
		});
	}
	if (argument !== "-") return argument === undefined ? undefined : Buffer.from(argument);
	return readAll(context.stdin);
}
