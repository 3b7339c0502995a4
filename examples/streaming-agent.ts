import { setTimeout as pause } from "node:timers/promises";
import { FlowFabric } from "flowfabric";

/**
 * An agent that streams its model's answer token by token, asks a person in the middle, and continues. A reader sees one
 * text: while the agent is suspended nothing runs and the reader waits; afterwards the agent writes to the same stream. After a
 * retry, the first frame of the new attempt says so. Text written in a recorded step is not written twice. The model is
 * scripted, so you need no network. Run it after `npm run build`.
 */

type Kinds = { letter: { input: { customer: string }; result: { letter: string } } };

let asked = 0;

/** A stand-in for a model: it gives its answer in tokens. */
async function* model(answer: string, signal: AbortSignal): AsyncGenerator<string> {
	asked += 1;
	for (const token of answer.match(/\S+\s*/g) ?? []) {
		await pause(2, undefined, { signal });
		yield token;
	}
}

const ff = await FlowFabric.open<Kinds>("memory:");
const worker = ff.worker();
worker.handle("letter", async (ctx, { customer }) => {
	/** Streamed once and recorded: a later run gets the text without calling the model or writing it again. */
	const say = (name: string, answer: string) =>
		ctx.step(name, async () => {
			let text = "";
			for await (const token of model(answer, ctx.signal)) {
				text += token;
				await ctx.stream.write(token);
			}
			return text;
		});

	const draft = await say("draft", `Dear ${customer}, your parcel was lost. `);
	// Also in a step: after the wait the handler starts from the top, and would ask again.
	await ctx.step("ask", () => ctx.stream.event("question", { text: `refund ${customer}?` }));
	const { approved, by } = await ctx.waitForApproval("refund", { timeoutMs: 86_400_000 });

	await ctx.stream.summary({ refund: approved, by: by?.identity });
	if (ctx.attempt.index === 0) throw new Error("the bank did not answer");
	const rest = await say("rest", approved ? "You get your money back. " : "We are sorry. ");
	return { letter: (draft + rest).trim() };
});
await worker.start();

/** Resolves when the execution is suspended. */
async function suspended(id: string): Promise<void> {
	for await (const { event } of ff.follow(id)) if (event.type === "suspended") return;
}

const retry = { backoff: { type: "fixed", delayMs: 0 } } as const;
const run = await ff.submit("letter", { customer: "Ada" }, { policy: { retry } });

let isInLine = false;
const line = (text: string) => {
	console.log(isInLine ? `\n${text}` : text);
	isInLine = false;
};

let epoch: number | undefined;
for await (const frame of run.tail()) {
	if (frame.isNewAttempt) line(`--- attempt ${frame.attempt} ---`);
	else if (epoch !== undefined && frame.epoch > epoch) line("--- goes on ---");
	epoch = frame.epoch;

	if (frame.type === "text") {
		process.stdout.write(frame.text ?? "");
		isInLine = true;
	} else line(`[${frame.type}] ${frame.text ?? JSON.stringify(frame.patch)}`);

	if (frame.type !== "question") continue;
	// The answer could also come from a web page or `flowfabric approve`.
	await suspended(run.id);
	await ff.approve(run.id, { name: "approve", identity: "Carol" });
}

line(`result: ${(await run.result()).letter}`);
const { document } = await ff.streams.summary(run.id, 1);
console.log(`the model was asked ${asked} times; summary: ${JSON.stringify(document)}`);
await ff.close();
