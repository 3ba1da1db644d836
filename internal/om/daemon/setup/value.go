package setup

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"math/big"
	"strings"

	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// errComplete leaves a configuration that lacks nothing as it is: nothing to
// validate, nothing to commit.
var errComplete = errors.New("nothing to make")

func (o Options) report(p object.Path, made []string, err error) error {
	if errors.Is(err, errComplete) {
		return nil
	}
	if err != nil {
		return err
	}
	o.Log.Info("first start: made", slog.String("object", cmp.Or(p.String(), "node")), slog.String("reason", strings.Join(made, ", ")))
	return nil
}

func isHeartbeat(section string) bool { return strings.HasPrefix(section, "hb#") }

func newID() string { return uuid.NewString() }

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// newName returns two words, for people to tell clusters apart: the id is what
// is unique.
func newName() string { return pick(adjectives()) + "-" + pick(animals()) }

func pick(words []string) string {
	n, err := rand.Int(rand.Reader, big.NewInt(int64(len(words))))
	if err != nil {
		return words[0]
	}
	return words[n.Int64()]
}

func adjectives() []string {
	return strings.Fields(`able agile amber ample azure bold brave brisk bright broad calm candid civil clear clever
		cosmic crisp deft eager early easy exact fair fancy fast fine firm fleet fond frank free fresh gentle giant
		glad golden grand happy hardy honest humble ideal jolly keen kind lively loyal lucid lucky mellow merry mighty
		modest neat noble novel patient placid plucky polite prime proud quick quiet rapid ready robust royal serene
		sharp silver sincere smart snug solid steady stout strong sturdy sunny swift tidy tough true valiant vivid
		warm wise witty worthy young zesty`)
}

func animals() []string {
	return strings.Fields(`alpaca antelope badger beaver bison bobcat buffalo camel caribou cheetah condor cougar crane
		curlew dolphin dragonfly eagle egret eider elk falcon ferret finch fox gannet gazelle gecko gibbon grouse gull
		hare harrier hawk hedgehog heron hornbill ibex ibis impala jackdaw jaguar kestrel kingfisher kite koala lapwing
		lark lemur leopard linnet lion llama lynx magpie mallard marmot marten merlin mink moose narwhal newt ocelot
		orca oriole osprey otter owl oyster panda panther pelican penguin petrel pheasant pigeon plover puffin puma
		quail raven robin salmon seal shearwater sparrow starling stork swallow swan swift tapir tern thrush tiger
		toucan trout turtle walrus weasel whale wolf wren yak zebra`)
}
