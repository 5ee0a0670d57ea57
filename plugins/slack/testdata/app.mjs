// An app with Slack's own library: it answers what it is told, shares a file, and
// asks with buttons.
import { createRequire } from "node:module";

const { App } = createRequire(process.env.MODULES + "/")("@slack/bolt");
const app = new App({
  token: process.env.BOT_TOKEN,
  appToken: process.env.APP_TOKEN,
  socketMode: true,
  logLevel: "error",
  clientOptions: { slackApiUrl: process.env.SLACK_API },
});

app.message(/^echo /, async ({ message, say }) => {
  await say({ text: message.text.slice(5), thread_ts: message.thread_ts });
});
app.message("file", async ({ message, client }) => {
  await client.files.uploadV2({ channel_id: message.channel, filename: "a.txt", content: "content", initial_comment: "here" });
});
app.message("ask", async ({ say }) => {
  await say({
    text: "which?",
    blocks: [
      { type: "section", text: { type: "mrkdwn", text: "which?" } },
      { type: "actions", elements: [{ type: "button", text: { type: "plain_text", text: "Red" }, action_id: "red", value: "r" }] },
    ],
  });
});
app.action("red", async ({ ack, body, client, action }) => {
  await ack();
  await client.chat.update({ channel: body.channel.id, ts: body.message.ts, text: `${action.value} by ${body.user.id}`, blocks: [] });
});
app.event("app_mention", async ({ event, say }) => {
  await say(`mentioned by ${event.user}`);
});
await app.start();
console.log("ready");
