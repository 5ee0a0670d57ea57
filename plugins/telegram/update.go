package telegram

// What the Bot API says about updates, as far as it is read here.

type update struct {
	ID            int64          `json:"update_id"`
	Message       *message       `json:"message"`
	EditedMessage *message       `json:"edited_message"`
	CallbackQuery *callbackQuery `json:"callback_query"`
}

type user struct {
	ID        int64  `json:"id"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Username  string `json:"username"`
}

type chat struct {
	ID    int64  `json:"id"`
	Type  string `json:"type"` // private, group, supergroup or channel
	Title string `json:"title"`
}

func (c chat) private() bool { return c.Type == "private" }

type message struct {
	ID              int64    `json:"message_id"`
	ThreadID        int64    `json:"message_thread_id"`
	IsTopicMessage  bool     `json:"is_topic_message"`
	From            *user    `json:"from"`
	SenderChat      *chat    `json:"sender_chat"` // who writes in the name of a chat
	Chat            chat     `json:"chat"`
	Date            int64    `json:"date"`
	EditDate        int64    `json:"edit_date"`
	ReplyTo         *message `json:"reply_to_message"`
	Text            string   `json:"text"`
	Entities        []entity `json:"entities"`
	Caption         string   `json:"caption"`
	CaptionEntities []entity `json:"caption_entities"`

	Photo     []media `json:"photo"` // the same in several sizes
	Document  *media  `json:"document"`
	Voice     *media  `json:"voice"`
	Audio     *media  `json:"audio"`
	Video     *media  `json:"video"`
	VideoNote *media  `json:"video_note"`
	Animation *media  `json:"animation"`
	Sticker   *struct {
		Emoji string `json:"emoji"`
	} `json:"sticker"`
	Location *struct {
		Latitude  float64 `json:"latitude"`
		Longitude float64 `json:"longitude"`
	} `json:"location"`
	Contact *struct {
		Phone     string `json:"phone_number"`
		FirstName string `json:"first_name"`
		LastName  string `json:"last_name"`
	} `json:"contact"`

	ForumTopicCreated *struct{} `json:"forum_topic_created"`
	MigrateFromChatID int64     `json:"migrate_from_chat_id"`
}

type media struct {
	FileID   string `json:"file_id"`
	FileName string `json:"file_name"`
	MIME     string `json:"mime_type"`
	Size     int64  `json:"file_size"`
	Width    int    `json:"width"`
	Height   int    `json:"height"`
}

// An entity is a part of a text; offset and length count UTF-16 units.
type entity struct {
	Type   string `json:"type"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	URL    string `json:"url"`
	User   *user  `json:"user"`
}

type callbackQuery struct {
	ID      string   `json:"id"`
	From    user     `json:"from"`
	Message *message `json:"message"`
	Data    string   `json:"data"`
}
