import { FlowFabric } from "flowfabric";

const ff = await FlowFabric.open("sqlite:./hello.db");

const worker = ff.worker({ concurrency: 4 });
worker.handle("greet", async (ctx, input) => {
	if (ctx.attempt.index === 0) throw new Error("the network is down");
	return `hello, ${input.name}`;
});
await worker.start();

const run = await ff.submit(
	"greet",
	{ name: "world" },
	{ policy: { retry: { backoff: { type: "fixed", delayMs: 100 } } } },
);
console.log(await run.result());

const { events } = await ff.events(run.id);
console.log(events.map((event) => event.type).join(" → "));
await ff.close();
