package discord

import "time"

// What Discord says about its objects, as far as it is read here.

type user struct {
	ID         string `json:"id"`
	Username   string `json:"username"`
	GlobalName string `json:"global_name"`
	Bot        bool   `json:"bot"`
}

type member struct {
	Nick string `json:"nick"`
	User user   `json:"user"`
}

// A room is a channel of Discord.
type room struct {
	ID            string `json:"id"`
	Type          int    `json:"type"`
	GuildID       string `json:"guild_id"`
	ParentID      string `json:"parent_id"`
	LastMessageID string `json:"last_message_id"`
}

// thread reports whether a room is a thread in its parent.
func (r room) thread() bool { return r.Type >= 10 && r.Type <= 12 }

type guild struct {
	ID       string `json:"id"`
	Channels []room `json:"channels"`
	Threads  []room `json:"threads"`
	Roles    []struct {
		ID   string `json:"id"`
		Tags struct {
			BotID string `json:"bot_id"`
		} `json:"tags"`
	} `json:"roles"`
}

type message struct {
	ID           string       `json:"id"`
	Type         int          `json:"type"`
	ChannelID    string       `json:"channel_id"`
	GuildID      string       `json:"guild_id"`
	WebhookID    string       `json:"webhook_id"`
	Author       *user        `json:"author"`
	Member       *member      `json:"member"`
	Content      string       `json:"content"`
	Timestamp    time.Time    `json:"timestamp"`
	Edited       *time.Time   `json:"edited_timestamp"`
	Mentions     []user       `json:"mentions"`
	MentionRoles []string     `json:"mention_roles"`
	Attachments  []attachment `json:"attachments"`
	Reference    *struct {
		MessageID string `json:"message_id"`
	} `json:"message_reference"`
	Referenced *message `json:"referenced_message"`
}

// Types of messages that people write.
const (
	typeDefault = 0
	typeReply   = 19
)

type attachment struct {
	Name string `json:"filename"`
	MIME string `json:"content_type"`
	Size int64  `json:"size"`
	URL  string `json:"url"`
}

type interaction struct {
	ID        string   `json:"id"`
	Type      int      `json:"type"`
	Token     string   `json:"token"`
	ChannelID string   `json:"channel_id"`
	GuildID   string   `json:"guild_id"`
	Member    *member  `json:"member"`
	User      *user    `json:"user"`
	Message   *message `json:"message"`
	Data      struct {
		CustomID string `json:"custom_id"`
	} `json:"data"`
}

// typeComponent is the type of an interaction with a button.
const typeComponent = 3
